"""The hands: when to look, who may write, how a turn goes. They see ports and the domain only."""
