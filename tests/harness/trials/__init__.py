"""
Trials of failover and failback: groups that move between two real clusters while data flow, and a
count of what they read twice or never.
"""
