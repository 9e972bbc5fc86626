"""The cheapest way to send units through a network, by shortest augmenting paths; exact.

All costs are whole numbers and not negative. Ahuja, Magnanti and Orlin, Network Flows (1993), 9.7.
"""

from heapq import heappop, heappush

UNBOUNDED = 1 << 40


class Network:
    """Nodes with supplies, and arcs with room and cost; arc `a` and its reverse `a ^ 1` are a pair.

    A supply below zero is a need. What is needed in all may be less than what is supplied.
    """

    def __init__(self, nodes: int) -> None:
        self.supply = [0] * nodes
        self._arcs: list[list[int]] = [[] for _ in range(nodes)]
        self._head = list[int]()
        self._room = list[int]()
        self._cost = list[int]()
        self._price = [0] * nodes

    def arc(self, tail: int, head: int, cost: int, room: int = UNBOUNDED) -> int:
        """Add an arc, and return its number."""
        number = len(self._head)
        self._head += (head, tail)
        self._room += (room, 0)
        self._cost += (cost, -cost)
        self._arcs[tail].append(number)
        self._arcs[head].append(number + 1)
        return number

    def flow(self, arc: int) -> int:
        """Return how many units take an arc."""
        return self._room[arc ^ 1]

    def relax(self) -> None:
        """Send every supply to where it is needed, as cheaply as that is possible in all."""
        for node, supply in enumerate(self.supply):
            for _ in range(max(0, supply)):
                self._send(node)

    def _send(self, start: int) -> None:
        """Send one unit along the cheapest path to a node in need."""
        end, distance, before, settled = self._search(start)
        for node in settled:
            self._price[node] += distance[node] - distance[end]
        node = end
        while node != start:
            arc = before[node]
            self._room[arc] -= 1
            self._room[arc ^ 1] += 1
            node = self._head[arc ^ 1]
        self.supply[start] -= 1
        self.supply[end] += 1

    def _search(self, start: int) -> tuple[int, dict[int, int], dict[int, int], list[int]]:
        """Search outwards until the nearest node in need is settled (Dijkstra, reduced costs)."""
        distance, before = {start: 0}, dict[int, int]()
        done = set[int]()
        settled = list[int]()
        queue = [(0, start)]
        price, head, room, cost = self._price, self._head, self._room, self._cost
        while queue:
            far, node = heappop(queue)
            if node in done:
                continue
            if self.supply[node] < 0:
                return node, distance, before, [*settled, node]
            done.add(node)
            settled.append(node)
            base = far + price[node]
            for arc in self._arcs[node]:
                if room[arc]:
                    target = head[arc]
                    reach = base + cost[arc] - price[target]
                    if reach < distance.get(target, UNBOUNDED):
                        distance[target] = reach
                        before[target] = arc
                        heappush(queue, (reach, target))
        raise ValueError("what is needed cannot be reached")
