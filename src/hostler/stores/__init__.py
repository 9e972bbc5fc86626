"""Where everything durable is: adapters of the store port, which do not see each other."""
