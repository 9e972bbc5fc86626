"""What reads objects: single ones, lists, watches."""
