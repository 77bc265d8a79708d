"""A user's own documents: tables, JSON Lines, folders, svmlight."""
