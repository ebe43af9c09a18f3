"""
Chaos: several nodes mirror while they are killed, frozen, restarted and cut off, and every record
that was acknowledged is looked for in the copy.
"""
