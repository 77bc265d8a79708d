"""What a person reads: tables on the terminal and in files, figures, and one page of HTML."""
