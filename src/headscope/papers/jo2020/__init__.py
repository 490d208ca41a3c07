"""Jo and Myaeng 2020, "Roles and Utilization of Attention Heads"."""
