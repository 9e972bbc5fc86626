"""A fake of the Scaleway API (Instances, Block Storage and what they need), built from wire facts.

`world.World` is the pure core: requests in, answers out, under any clock. `http` puts it behind
a loopback socket, `wire` behind the HTTP port of a program under simulated time.
"""
