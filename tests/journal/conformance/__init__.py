"""What every journal must do, whatever keeps it. These tests run against all of `stores.STORES`.

To prove a new store (PostgreSQL, say): write a class with the methods of `stores.Store`, namely
how to open an empty journal in a folder of its own and how to tamper with it behind its back, and
add an instance to `stores.STORES`. Nothing else here changes.
"""
