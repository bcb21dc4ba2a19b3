-- Search. A span is any text with a time; `kind` says where it comes from. `terms` is what it is
-- found by: words, then marks, with a space between, all made by media/terms.py. `indexed` is the
-- version of that function which made them, 0 for what was there before: a loop catches up.
ALTER TABLE spans ADD COLUMN kind text NOT NULL DEFAULT 'screen' CHECK (kind IN ('screen', 'subtitle', 'embedded', 'chapter', 'title', 'tag', 'file'));

ALTER TABLE spans ADD COLUMN terms text NOT NULL DEFAULT '';

ALTER TABLE spans ADD COLUMN indexed integer NOT NULL DEFAULT 0;

CREATE INDEX spans_indexed ON spans (indexed, id);

ALTER TABLE assets ADD COLUMN indexed integer NOT NULL DEFAULT 0;

CREATE INDEX assets_indexed ON assets (indexed, id);

CREATE INDEX assets_unread ON assets (id) WHERE searchable_at IS NULL AND deleted_at IS NULL;

-- SQLite: FTS5 over `terms`. Its tokenizer splits at spaces only: every character that a term may
-- hold is one of a token.
CREATE VIRTUAL TABLE spans_fts USING fts5 (terms, content = 'spans', content_rowid = 'id', tokenize = "ascii tokenchars '_:=@#*'");  --@sqlite
CREATE TRIGGER spans_found AFTER INSERT ON spans WHEN new.terms <> '' BEGIN INSERT INTO spans_fts (rowid, terms) VALUES (new.id, new.terms); END;  --@sqlite
CREATE TRIGGER spans_lost AFTER DELETE ON spans WHEN old.terms <> '' BEGIN INSERT INTO spans_fts (spans_fts, rowid, terms) VALUES ('delete', old.id, old.terms); END;  --@sqlite
CREATE TRIGGER spans_refound AFTER UPDATE OF terms ON spans BEGIN INSERT INTO spans_fts (spans_fts, rowid, terms) SELECT 'delete', old.id, old.terms WHERE old.terms <> ''; INSERT INTO spans_fts (rowid, terms) SELECT new.id, new.terms WHERE new.terms <> ''; END;  --@sqlite

-- PostgreSQL: the same terms at the same places as a tsvector, and the block of 16,384 spans that the
-- row lies in: GIN knows no order, so a search that wants the newest asks block by block.
ALTER TABLE spans ADD COLUMN lexemes tsvector;  --@postgres
CREATE FUNCTION rushes_lexemes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.lexemes := CASE WHEN NEW.terms = '' THEN NULL ELSE (SELECT CAST(string_agg('''' || word || ''':' || n, ' ') || ' '':b' || (NEW.id >> 14) || '''' AS tsvector) FROM unnest(string_to_array(NEW.terms, ' ')) WITH ORDINALITY AS one(word, n)) END; RETURN NEW; END $$;  --@postgres
CREATE TRIGGER spans_lexemes BEFORE INSERT OR UPDATE OF terms ON spans FOR EACH ROW EXECUTE FUNCTION rushes_lexemes();  --@postgres
CREATE INDEX spans_found ON spans USING gin (lexemes) WITH (fastupdate = off);  --@postgres

-- The words of each owner's videos that are not deleted, and how many spans have them. `bones` is the
-- word as a bad reading has it, `senob` the same from behind.
CREATE TABLE vocabulary (
    id    {identity},
    owner text     NOT NULL,
    word  text     NOT NULL,  --@sqlite
    bones text     NOT NULL,  --@sqlite
    senob text     NOT NULL,  --@sqlite
    word  text     COLLATE "C" NOT NULL,  --@postgres
    bones text     COLLATE "C" NOT NULL,  --@postgres
    senob text     COLLATE "C" NOT NULL,  --@postgres
    n     {bigint} NOT NULL,
    UNIQUE (word, owner)
)
  STRICT  --@sqlite
;

CREATE INDEX vocabulary_bones ON vocabulary (bones);

CREATE INDEX vocabulary_senob ON vocabulary (senob);

-- Parts of words, by the three characters from each place on.
CREATE VIRTUAL TABLE vocabulary_fts USING fts5 (word, content = 'vocabulary', content_rowid = 'id', tokenize = 'trigram case_sensitive 1');  --@sqlite
CREATE TRIGGER vocabulary_found AFTER INSERT ON vocabulary BEGIN INSERT INTO vocabulary_fts (rowid, word) VALUES (new.id, new.word); END;  --@sqlite
CREATE TRIGGER vocabulary_lost AFTER DELETE ON vocabulary BEGIN INSERT INTO vocabulary_fts (vocabulary_fts, rowid, word) VALUES ('delete', old.id, old.word); END;  --@sqlite
CREATE FUNCTION rushes_grams(word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT array_agg(DISTINCT substr(word, place, 3)) FROM generate_series(1, greatest(length(word) - 2, 1)) AS place $$;  --@postgres
CREATE INDEX vocabulary_grams ON vocabulary USING gin (rushes_grams(word)) WITH (fastupdate = off);  --@postgres
