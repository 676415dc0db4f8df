// Refreshes the regions of a page.
