-- What a client said about an upload, word for word: tus wants it back.
ALTER TABLE uploads ADD COLUMN metadata text;
