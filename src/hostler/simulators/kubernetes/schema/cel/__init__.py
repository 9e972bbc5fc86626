"""CEL, as far as definitions use it: expressions over the JSON of an object.

What is not understood is refused loudly, never taken for true.
"""
