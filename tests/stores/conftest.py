"""No loop by default: else the first test without one makes a loop that nobody closes."""

import asyncio

# looptime asks the policy for a loop around every test; a policy that was never told otherwise
# makes one then, and its ResourceWarning fails whichever test runs when it is collected.
asyncio.set_event_loop(None)
