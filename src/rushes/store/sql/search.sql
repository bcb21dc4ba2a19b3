-- Statements of the search: the index beside the spans, the vocabulary, and what is asked of them.

-- name: index_owner
-- Whose texts they are, before they change. Two that change them at once would count the words of one
-- and the texts of the other, so the second waits.
SELECT owner, deleted_at, duration_ms FROM assets WHERE id = :id
   FOR NO KEY UPDATE  --@postgres

-- name: indexed_terms
-- What the spans of an asset are found by. No kinds: all of them. :language NULL: in any language.
SELECT terms
  FROM spans
 WHERE asset_id = :asset_id
   AND terms <> ''
   AND (kind IN (SELECT kind FROM {rows:kinds(kind text)} AS k) OR NOT EXISTS (SELECT 1 FROM {rows:kinds(kind text)} AS k))
   AND (CAST(:language AS text) IS NULL OR language = :language)

-- name: drop_texts
DELETE FROM spans
 WHERE asset_id = :asset_id
   AND (kind IN (SELECT kind FROM {rows:kinds(kind text)} AS k) OR NOT EXISTS (SELECT 1 FROM {rows:kinds(kind text)} AS k))
   AND (CAST(:language AS text) IS NULL OR language = :language)

-- name: count_words
-- With a negative number, words that are gone. They come in order: two that count the same ones never wait for each other in a circle.
INSERT INTO vocabulary (owner, word, bones, senob, n)
SELECT CAST(:owner AS text), w.word, w.bones, w.senob, w.n
  FROM {rows:words(word text, bones text, senob text, n bigint)} AS w
 WHERE TRUE
    ON CONFLICT (word, owner) DO UPDATE SET n = vocabulary.n + excluded.n

-- name: drop_words
-- Those of these words that no text has any more.
DELETE FROM vocabulary
 WHERE owner = :owner
   AND word IN (SELECT w.word FROM {rows:words(word text)} AS w)
   AND n <= 0

-- name: stale_assets
-- Assets whose title, tags and chapters an older version of the terms was made for.
SELECT id, source
  FROM assets
 WHERE indexed < :version
 ORDER BY indexed, id
 LIMIT :n
   FOR NO KEY UPDATE  --@postgres

-- name: stale_spans
-- Texts that an older version of the terms was made for. Nobody changes them meanwhile, nor deletes
-- the video.
SELECT spans.id, spans.asset_id, spans.kind, spans.text, spans.language, spans.confidence, spans.terms, assets.owner, assets.deleted_at
  FROM spans
  JOIN assets ON assets.id = spans.asset_id
 WHERE spans.indexed < :version
 ORDER BY spans.indexed, spans.id
 LIMIT :n
   FOR NO KEY UPDATE  --@postgres

-- name: set_terms
UPDATE spans
   SET terms = t.terms,
       indexed = :version
  FROM {rows:spans(id bigint, terms text)} AS t
 WHERE spans.id = t.id

-- name: set_asset_indexed
UPDATE assets SET indexed = :version WHERE id = :id

-- name: index_anew
UPDATE spans SET indexed = 0 WHERE indexed <> 0

-- name: index_assets_anew
UPDATE assets SET indexed = 0 WHERE indexed <> 0

-- name: let_bitmaps
-- GIN answers with bitmaps, which other statements are kept from. For this transaction.
SET LOCAL enable_bitmapscan = on  --@postgres

-- name: limit_time
-- No question may keep a connection for longer. For this transaction.
SET LOCAL statement_timeout = 5000  --@postgres

-- name: newest_span
SELECT coalesce(max(id), 0) AS id FROM spans

-- name: search_spans
-- Spans between two ids that have the terms, the newest first. Whose they are is asked of the asset:
-- the mark of the owner among the terms is there for speed. OFFSET 0 is a fence: what is inside has
-- no index to use but the one that is meant. With :within on its own, GIN leaps to those blocks.
SELECT spans.id, spans.asset_id, spans.start_ms, spans.confidence, spans.terms, assets.created_at
  FROM spans_fts CROSS JOIN spans ON spans.id = spans_fts.rowid  --@sqlite
  FROM (SELECT id, asset_id, kind, start_ms, confidence, language, terms FROM spans WHERE lexemes @@ CAST(:query AS tsquery) AND lexemes @@ CAST(:within AS tsquery) OFFSET 0) AS spans  --@postgres
  JOIN assets ON assets.id = spans.asset_id
 WHERE spans_fts MATCH :match AND spans_fts.rowid BETWEEN :low AND :high  --@sqlite
 WHERE spans.id BETWEEN :low AND :high  --@postgres
   AND assets.deleted_at IS NULL
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND (CAST(:asset_id AS {uuid}) IS NULL OR spans.asset_id = :asset_id)
   AND (CAST(:language AS text) IS NULL OR spans.language = :language)
   AND (CAST(:kind AS text) IS NULL OR spans.kind = :kind)
   AND spans.confidence >= :min_confidence
   AND (CAST(:since AS {bigint}) IS NULL OR assets.created_at >= :since)
   AND (CAST(:until AS {bigint}) IS NULL OR assets.created_at < :until)
 ORDER BY spans_fts.rowid DESC  --@sqlite
 ORDER BY spans.id DESC  --@postgres
 LIMIT :n

-- name: found_spans
-- The spans of a page, and the frame in which each was first seen, of the newest version that has it.
SELECT spans.id, spans.asset_id, spans.kind, spans.start_ms, spans.end_ms, spans.text, spans.confidence, spans.language,
       spans.x, spans.y, spans.width, spans.height, assets.title, assets.duration_ms,
       (SELECT max(versions.n)
          FROM versions
          JOIN artifacts ON artifacts.name = 'frames/' || CAST(spans.asset_id AS text) || '/v' || versions.n || '/' || w.frame
         WHERE versions.asset_id = spans.asset_id AND spans.kind = 'screen') AS frame_version
  FROM {rows:wanted(id bigint, frame text)} AS w
  JOIN spans ON spans.id = w.id
  JOIN assets ON assets.id = spans.asset_id

-- name: count_texts
-- How many texts have one of these words, at the most.
SELECT coalesce(sum(n), 0) AS n
  FROM vocabulary
 WHERE word IN (SELECT w.word FROM {rows:words(word text)} AS w)
   AND (CAST(:owner AS text) IS NULL OR owner = :owner)

-- name: words_starting
SELECT word, sum(n) AS n
  FROM vocabulary
 WHERE word >= :start AND word < :end
   AND (CAST(:owner AS text) IS NULL OR owner = :owner)
 GROUP BY word
 ORDER BY sum(n) DESC, word
 LIMIT :n

-- name: words_with
-- Words that have a part of three or more characters.
SELECT word, sum(n) AS n
  FROM vocabulary
 WHERE id IN (SELECT rowid FROM vocabulary_fts WHERE word GLOB :glob)  --@sqlite
   AND instr(word, :part) > 0  --@sqlite
 WHERE rushes_grams(word) @> rushes_grams(:part)  --@postgres
   AND strpos(word, :part) > 0  --@postgres
   AND (CAST(:owner AS text) IS NULL OR owner = :owner)
 GROUP BY word
 ORDER BY sum(n) DESC, word
 LIMIT :n

-- name: words_with_short
-- Words that have a part of one or two characters: no index helps.
SELECT word, sum(n) AS n
  FROM vocabulary
 WHERE instr(word, :part) > 0  --@sqlite
 WHERE strpos(word, :part) > 0  --@postgres
   AND (CAST(:owner AS text) IS NULL OR owner = :owner)
 GROUP BY word
 ORDER BY sum(n) DESC, word
 LIMIT :n

-- name: words_near
-- Words whose bones begin, or end, as these do, are right a little further or at the other end, and
-- are about as long.
SELECT word, bones, sum(n) AS n
  FROM (SELECT id, owner, word, bones, n
          FROM vocabulary
         WHERE bones >= :head AND bones < :head_end
           AND ((bones >= :longer_head AND bones < :longer_head_end) OR (senob >= :short_tail AND senob < :short_tail_end))
        UNION
        SELECT id, owner, word, bones, n
          FROM vocabulary
         WHERE senob >= :tail AND senob < :tail_end
           AND ((senob >= :longer_tail AND senob < :longer_tail_end) OR (bones >= :short_head AND bones < :short_head_end))) AS near
 WHERE length(bones) BETWEEN :shortest AND :longest
   AND (CAST(:owner AS text) IS NULL OR owner = :owner)
 GROUP BY word, bones

-- name: unread_assets
-- Videos whose text is not there to be found, newest first; with :asset_id that one alone. Not those of
-- which nobody wanted the text: `options` are the wishes of the first job, `index` is a step of one that reads it.
SELECT {asset_columns}, versions.n AS newest, versions.job_id, jobs.status AS job_status, jobs.failure
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = ({latest_version})
  LEFT JOIN jobs ON jobs.id = versions.job_id
 WHERE assets.searchable_at IS NULL
   AND assets.deleted_at IS NULL
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND (CAST(:asset_id AS {uuid}) IS NULL OR assets.id = :asset_id)
   AND (versions.options ->> 'text' = 1  --@sqlite
   AND (CAST(versions.options AS json) ->> 'text' = 'true'  --@postgres
        OR EXISTS (SELECT 1 FROM tasks WHERE tasks.job_id = versions.job_id AND tasks.step = 'index'))
 ORDER BY assets.id DESC
 LIMIT :n

-- name: timed_spans
-- When a video has text, whatever its kind.
SELECT start_ms, end_ms FROM spans WHERE asset_id = :asset_id AND kind IN ('screen', 'subtitle', 'embedded', 'chapter')

-- name: subtitle_tracks
SELECT kind, language, count(*) AS cues
  FROM spans
 WHERE asset_id = :asset_id
   AND kind IN ('subtitle', 'embedded')
 GROUP BY kind, language
 ORDER BY kind, language

-- name: track_spans
SELECT start_ms, end_ms, text
  FROM spans
 WHERE asset_id = :asset_id
   AND kind = :kind
   AND language = :language
 ORDER BY start_ms, id
