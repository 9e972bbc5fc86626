"""SNMP: what the method `snmp` needs: where vendors put their outlets, and how agents are asked."""
