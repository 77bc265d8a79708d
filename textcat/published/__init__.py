"""What the papers print: their tables, their claims, and the verdict on our numbers beside theirs."""
