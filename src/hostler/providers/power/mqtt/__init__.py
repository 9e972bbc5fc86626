"""MQTT: how devices behind a broker are told and asked, and what speaks to the broker."""
