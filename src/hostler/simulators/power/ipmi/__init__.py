"""A management controller that speaks IPMI 2.0 over UDP, as its specification of 2015 has it."""
