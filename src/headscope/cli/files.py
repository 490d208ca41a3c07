"""Commands on results and files: report, figures, ls, export, merge, cite, check."""
