"""Page: which lights are on, as plain HTML that reloads itself."""

from html import escape

from .rack import Rack

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">
<meta name="viewport" content="width=device-width"><title>hostler: a simulated rack</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25em .8em .25em 0; border-bottom: 1px solid #8884;
  white-space: nowrap; }
td.fault { white-space: normal; }
a { color: inherit; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.light { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .5em;
  background: #8886; }
.on { background: #e9a100; } .up { background: #1a9c3c; } .fault { color: #c4321f; }
@media (max-width: 40em) { body { margin: 1em auto; } .wide { display: none; } }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e4e4e4; }
  .fault { color: #ff8a75; } }
</style></head><body><h1>A simulated rack</h1>
"""
_COLUMNS = """<table><thead><tr><th>machine</th><th class="wide">power</th>
<th class="wide">system</th><th>switched by</th><th class="number">watts</th>
<th class="number wide">Wh</th><th class="number wide">starts</th><th>faults</th>
</tr></thead><tbody>
"""
_LEGEND = """<p><span class="light up"></span>up &nbsp; <span class="light on"></span>on, its system
is starting or ending &nbsp; <span class="light"></span>off</p>
<p>Faults are armed at <a href="/_sim/faults"><code>/_sim/faults</code></a>;
<a href="/_sim/state"><code>/_sim/state</code></a> is this page as JSON, and
<a href="/_sim/journal"><code>/_sim/journal</code></a> are the last commands.</p>
</body></html>
"""


def page(rack: Rack) -> str:
    """Return the page. Whatever it shows is escaped."""
    machines = tuple(rack.machines.values())
    on, up = sum(one.has_power() for one in machines), len(rack.up())
    watts = sum(one.draw() for one in machines)
    total = f"<p>{len(machines)} machines: {on} on, {up} up, {watts:,.0f} W, "
    total += f"{1000 * rack.kilowatt_hours():,.1f} Wh so far</p>\n"
    return _HEAD + total + _COLUMNS + "".join(_rows(rack)) + "</tbody></table>\n" + _LEGEND


def _rows(rack: Rack) -> list[str]:
    found = list[str]()
    for machine in rack.machines.values():
        machine.in_force()
        on, up = machine.has_power(), machine.is_up()
        light = "light up" if up else "light on" if on else "light"
        starts = sum(change.on for change in machine.changes)
        faults = escape(", ".join(str(armed.fault) for armed in machine.armed))
        found.append(
            f'<tr><td><span class="{light}"></span>{escape(machine.name)}</td>'
            f'<td class="wide">{"on" if on else "off"}</td>'
            f'<td class="wide">{"up" if up else "down"}</td>'
            f"<td>{escape(machine.method)}</td>"
            f'<td class="number">{machine.draw():.1f}</td>'
            f'<td class="number wide">{1000 * machine.kilowatt_hours():,.2f}</td>'
            f'<td class="number wide">{starts}</td><td class="fault">{faults}</td></tr>\n'
        )
    return found
