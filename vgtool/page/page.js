// Reads the data and starts the page.
