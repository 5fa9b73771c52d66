// Raw JetStream with tails that write to SQLite: what a cluster of Reprise is measured beside.
//
//   peer store   --url URL,URL --folder DIR [--messages N] [--bytes N] [--entry N] [--flight N]
//                [--writers N] [--tails N] [--replicas N] [--rate N] [--live 0|1]
//   peer replay  the same: the tails begin once all is published
//   peer probe   --url URL,URL --subject NAME [--rate N] [--seconds N]
//
// store makes a stream, publishes entries of at most --entry messages with --flight of them under
// way, and ends when every tail has committed all messages to a file of its own: a process each.
// With --rate, messages arrive at that many a second, and an entry takes what has arrived; without,
// each entry is full. A tail takes the entries in order and writes the rows that a gateway's view
// has of them, in its tables and with its pragmas, one transaction for all that has arrived. With
// --live 0 it reads by an ordered consumer, which is slower here; else by republishing, where an
// entry that does not come ends the run. Messages go to `messages` at once, also where a view has
// them in `arrivals` first. In the end all tails must have the same messages.
//
// probe publishes small messages to an existing stream and tells the longest time without an
// acknowledgement. Each prints one line of JSON.
#include <nats/nats.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TAILS = 16, MOST_FLIGHT = 256, CHANNELS = 3, ID_BYTES = 24 };
// As Sources/RepriseServer/Log/KnownIDs.swift and IDFilter.swift have them.
enum { RUN_LENGTH = 65536, SLICES = 128, FILTER_WORDS = RUN_LENGTH / 4, RECENT_ENTRIES = 65536 };
enum { MOST_TOGETHER = 16384 };

static const char *url = "nats://127.0.0.1:4222", *folder = ".", *subject = "peer.j";
static long messages = 200000, bodyBytes = 200, perEntry = 1024, flight = 4;
static long writers = 1, tails = 3, replicas = 3, live = 1;
static double rate = 0, seconds = 10;
static bool isReplay;

// What the processes share.
typedef struct {
    _Atomic int made, ready, writing;
    _Atomic int64_t began, published;
    struct {
        _Atomic int64_t applied, ended, first;
        double cpu, tailCPU;
        uint64_t digest;
        int64_t rows, transactions;
    } tail[MOST_TAILS];
    // A tail's waits in seconds: [tail * messages + n], and behind them those to the commit.
    float waits[];
} Shared;
static Shared *shared;

static void fail(const char *format, ...) {
    va_list words;
    va_start(words, format);
    fputs("peer: ", stderr);
    vfprintf(stderr, format, words);
    fputs("\n", stderr);
    va_end(words);
    _exit(1);
}

static void check(natsStatus status, const char *what) {
    if (status != NATS_OK) fail("%s: %s", what, nats_GetLastError(NULL));
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void sleepUntil(int64_t at) {
    for (int64_t left; (left = at - now()) > 0;) {
        struct timespec time = {left / 1000000000, left % 1000000000};
        nanosleep(&time, NULL);
    }
}

static natsConnection *dial(void) {
    natsOptions *options;
    natsConnection *connection;
    const char *servers[16];
    int count = 0;
    char *rest = strdup(url);
    for (char *one; count < 16 && (one = strsep(&rest, ","));) servers[count++] = one;
    check(natsOptions_Create(&options), "options");
    check(natsOptions_SetServers(options, servers, count), "address");
    check(natsOptions_SetSendAsap(options, true), "options");
    check(natsOptions_SetMaxReconnect(options, -1), "options");
    check(natsOptions_SetReconnectWait(options, 50), "options");
    check(natsOptions_SetReconnectJitter(options, 10, 10), "options");
    check(natsConnection_Connect(&connection, options), "connect");
    natsOptions_Destroy(options);
    return connection;
}

static double cpu(clockid_t clock) {
    struct timespec used;
    clock_gettime(clock, &used);
    return used.tv_sec + used.tv_nsec / 1e9;
}

// MARK: The stream, with the settings of a journal.

static void makeStream(jsCtx *context) {
    jsStreamConfig settings;
    jsRePublish republish;
    const char *subjects[] = {subject};
    jsStreamConfig_Init(&settings);
    jsRePublish_Init(&republish);
    republish.Source = subject;
    republish.Destination = "peer.live";
    settings.Name = "PEER";
    settings.Subjects = subjects;
    settings.SubjectsLen = 1;
    settings.Storage = js_FileStorage;
    settings.Discard = js_DiscardNew;
    settings.Replicas = replicas;
    settings.MaxBytes = 8LL << 30;
    settings.Duplicates = 100000000;
    settings.AllowDirect = true;
    settings.DenyDelete = true;
    settings.RePublish = &republish;
    jsErrCode code = 0;
    for (int left = 100;; left--) {
        natsStatus status = js_AddStream(NULL, context, &settings, NULL, &code);
        if (status == NATS_OK) return;
        if (!left) fail("no stream: %s (%d)", natsStatus_GetText(status), code);
        usleep(200000);
    }
}

// MARK: An entry: the count, then of each message when it arrived, its id, channel and body.

typedef struct {
    int64_t arrived, number;
    int channel;
    const char *id, *body;
    int idBytes, bodyBytes;
} Message;

static char *put(char *at, const void *value, size_t bytes) {
    memcpy(at, value, bytes);
    return at + bytes;
}

static char *putMessage(char *at, int64_t arrived, int64_t number, int channel, const char *body) {
    char id[ID_BYTES];
    uint8_t idBytes = snprintf(id, sizeof id, "b%d-%lld", channel, (long long)number);
    uint32_t size = bodyBytes + 2;
    at = put(put(at, &arrived, 8), &number, 8);
    *at++ = channel;
    *at++ = idBytes;
    return put(put(put(at, id, idBytes), &size, 4), body, size);
}

static const char *take(const char *at, void *value, size_t bytes) {
    memcpy(value, at, bytes);
    return at + bytes;
}

static const char *takeMessage(const char *at, Message *message) {
    uint32_t size;
    at = take(take(at, &message->arrived, 8), &message->number, 8);
    message->channel = *at++;
    message->idBytes = (uint8_t)*at++;
    message->id = at;
    at = take(at + message->idBytes, &size, 4);
    message->body = at;
    message->bodyBytes = size;
    return at + size;
}

// MARK: Publishing

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long pending;
} Window;

static void acknowledged(jsCtx *c, natsMsg *message, jsPubAck *ack, jsPubAckErr *error, void *at) {
    (void)c;
    (void)ack;
    if (error) fail("not stored: %s", error->ErrText ? error->ErrText : "?");
    natsMsg_Destroy(message);
    Window *window = at;
    pthread_mutex_lock(&window->lock);
    window->pending--;
    pthread_cond_signal(&window->changed);
    pthread_mutex_unlock(&window->lock);
}

static void waitBelow(Window *window, long most) {
    pthread_mutex_lock(&window->lock);
    while (window->pending >= most) pthread_cond_wait(&window->changed, &window->lock);
    pthread_mutex_unlock(&window->lock);
}

// The share of a writer: each message whose number is the writer's, modulo their number.
static void *writeShare(void *argument) {
    long writer = (long)argument;
    Window window = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    natsConnection *connection = dial();
    jsCtx *context;
    jsOptions options;
    jsOptions_Init(&options);
    options.PublishAsync.MaxPending = flight + 1;
    options.PublishAsync.AckHandler = acknowledged;
    options.PublishAsync.AckHandlerClosure = &window;
    check(natsConnection_JetStream(&context, connection, &options), "JetStream");
    char *body = malloc(bodyBytes + 2), *bytes = malloc(4 + perEntry * (bodyBytes + 64));
    memset(body, 'x', bodyBytes + 2);
    body[0] = body[bodyBytes + 1] = '"';
    while (shared->ready < tails) usleep(1000);
    if (writer == 0) shared->began = now() + 50000000;
    while (!shared->began) usleep(1000);
    sleepUntil(shared->began);
    int64_t began = shared->began, entries = writer;
    for (int64_t number = writer; number < messages; entries += writers) {
        int64_t due = rate > 0 ? began + (int64_t)(number / rate * 1e9) : 0;
        if (due > now()) sleepUntil(due);
        waitBelow(&window, flight);
        int64_t time = now();
        uint32_t count = 0;
        char *at = bytes + 4;
        for (; number < messages && count < perEntry; number += writers, count++) {
            due = rate > 0 ? began + (int64_t)(number / rate * 1e9) : time;
            if (due > time) break;
            at = putMessage(at, due, number, (rate > 0 ? number : entries) % CHANNELS, body);
        }
        put(bytes, &count, 4);
        pthread_mutex_lock(&window.lock);
        window.pending++;
        pthread_mutex_unlock(&window.lock);
        check(js_PublishAsync(context, subject, bytes, at - bytes, NULL), "publish");
    }
    waitBelow(&window, 1);
    shared->published = now();
    shared->writing--;
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    return NULL;
}

// MARK: A tail's file

typedef struct {
    char id[ID_BYTES];
    int channel;
    int64_t seq;
} KnownID;

typedef struct {
    sqlite3 *file;
    sqlite3_stmt *begin, *commit, *message, *recent[2], *clear[2], *sorted, *run, *head, *entry,
        *applied, *forget;
    int64_t seq[CHANNELS], bytes[CHANNELS];
    bool isChanged[CHANNELS];
    int64_t row, sequence, time;
    // The ids of the table that fills, and of the one that is written in order.
    KnownID *ids[2];
    uint64_t filter[2][FILTER_WORDS];
    int filling, inserted;
    long count, sealed, sealing;
    bool isSealing;
    uint64_t digest[4];
} View;

static void sql(View *view, const char *text) {
    if (sqlite3_exec(view->file, text, NULL, NULL, NULL)) fail("%s", sqlite3_errmsg(view->file));
}

static sqlite3_stmt *prepare(View *view, const char *text) {
    sqlite3_stmt *made;
    if (sqlite3_prepare_v3(view->file, text, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL))
        fail("%s", sqlite3_errmsg(view->file));
    return made;
}

static void run(View *view, sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail("%s", sqlite3_errmsg(view->file));
    sqlite3_reset(statement);
}

static int64_t number(View *view, const char *text) {
    sqlite3_stmt *asked = prepare(view, text);
    if (sqlite3_step(asked) != SQLITE_ROW) fail("%s", sqlite3_errmsg(view->file));
    int64_t value = sqlite3_column_int64(asked, 0);
    sqlite3_finalize(asked);
    return value;
}

// The tables of LogSchema and ClusterSchema, as all migrations leave them; those of the accounts
// are not here, because messages write nothing into them.
static const char *schema =
    "CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL,"
    " probes INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE heads (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, head INTEGER NOT NULL,"
    " floor INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL, time INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE messages (channel INTEGER NOT NULL, seq INTEGER NOT NULL, prev INTEGER,"
    " id TEXT NOT NULL, time INTEGER NOT NULL, sender TEXT, change INTEGER, target INTEGER,"
    " deleted INTEGER, body BLOB NOT NULL, PRIMARY KEY (channel, seq)) WITHOUT ROWID;"
    "CREATE INDEX edits ON messages (channel, target) WHERE change = 1;"
    "CREATE TABLE recent_ids (n INTEGER PRIMARY KEY, id TEXT NOT NULL, channel INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, owner INTEGER);"
    "CREATE TABLE recent_ids2 (n INTEGER PRIMARY KEY, id TEXT NOT NULL, channel INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, owner INTEGER);"
    "CREATE TABLE id_runs (run INTEGER PRIMARY KEY, newest INTEGER NOT NULL, filter BLOB NOT NULL);"
    "CREATE TABLE ids (run INTEGER NOT NULL, id TEXT NOT NULL, channel INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, owner INTEGER, PRIMARY KEY (run, id)) WITHOUT ROWID;"
    "CREATE TABLE applied (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL,"
    " digest BLOB NOT NULL, time INTEGER NOT NULL);"
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, digest BLOB NOT NULL,"
    " time INTEGER NOT NULL);"
    "INSERT INTO log (one, epoch) VALUES (1, 'peer');"
    "INSERT INTO heads (key, name, head, count, time) VALUES (1, 'c0', 0, 0, 0),"
    " (2, 'c1', 0, 0, 0), (3, 'c2', 0, 0, 0);";

static View *openView(long tail) {
    View *view = calloc(1, sizeof *view);
    char path[4096];
    snprintf(path, sizeof path, "%s/tail%ld.sqlite", folder, tail);
    unlink(path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &view->file, flags, NULL)) fail("%s cannot be made", path);
    sql(view, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;"
              "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4096");
    sql(view, schema);
    view->begin = prepare(view, "BEGIN IMMEDIATE");
    view->commit = prepare(view, "COMMIT");
    view->message = prepare(
        view, "INSERT INTO messages (channel, seq, prev, id, time, sender, body, change, target,"
              " deleted) VALUES (?, ?, NULL, ?, ?, NULL, ?, NULL, NULL, NULL)");
    const char *insert = "INSERT INTO %s (n, id, channel, seq, owner) VALUES (?, ?, ?, ?, NULL)";
    for (int table = 0; table < 2; table++) {
        char text[200];
        const char *name = table ? "recent_ids2" : "recent_ids";
        snprintf(text, sizeof text, insert, name);
        view->recent[table] = prepare(view, text);
        snprintf(text, sizeof text, "DELETE FROM %s", name);
        view->clear[table] = prepare(view, text);
        view->ids[table] = calloc(4 * RUN_LENGTH, sizeof(KnownID));
    }
    view->sorted = prepare(
        view, "INSERT INTO ids (run, id, channel, seq, owner) VALUES (?, ?, ?, ?, NULL)");
    view->run = prepare(view, "INSERT INTO id_runs (run, newest, filter) VALUES (?, ?, ?)");
    view->head = prepare(
        view, "UPDATE heads SET head = ?1, count = ?1, bytes = ?2, time = ?3 WHERE key = ?4");
    view->entry = prepare(view, "INSERT INTO entries (sequence, digest, time) VALUES (?, ?, ?)");
    view->applied = prepare(
        view, "INSERT OR REPLACE INTO applied (one, sequence, digest, time) VALUES (1, ?, ?, ?)");
    view->forget = prepare(view, "DELETE FROM entries WHERE sequence <= ?");
    return view;
}

static void store(View *view, const Message *message) {
    int channel = message->channel;
    int64_t seq = ++view->seq[channel];
    view->bytes[channel] += message->bodyBytes;
    view->isChanged[channel] = true;
    sqlite3_bind_int64(view->message, 1, channel + 1);
    sqlite3_bind_int64(view->message, 2, seq);
    sqlite3_bind_text(view->message, 3, message->id, message->idBytes, SQLITE_STATIC);
    sqlite3_bind_int64(view->message, 4, view->time);
    sqlite3_bind_blob(view->message, 5, message->body, message->bodyBytes, SQLITE_STATIC);
    run(view, view->message);
    sqlite3_stmt *recent = view->recent[view->filling];
    sqlite3_bind_int64(recent, 1, ++view->row);
    sqlite3_bind_text(recent, 2, message->id, message->idBytes, SQLITE_STATIC);
    sqlite3_bind_int64(recent, 3, channel + 1);
    sqlite3_bind_int64(recent, 4, seq);
    run(view, recent);
    if (view->count + 1 >= 4 * RUN_LENGTH) fail("too many ids wait to be sorted");
    KnownID *known = &view->ids[view->filling][view->count++];
    memcpy(known->id, message->id, message->idBytes);
    known->id[message->idBytes] = 0;
    known->channel = channel;
    known->seq = seq;
    view->inserted++;
    uint64_t hash = 0xcbf29ce484222325;
    for (int at = 0; at < message->idBytes; at++)
        hash = (hash ^ (uint8_t)message->id[at]) * 0x100000001b3;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
    view->filter[view->filling][hash % FILTER_WORDS] |= 1ULL << (hash >> 34 & 63)
        | 1ULL << (hash >> 40 & 63) | 1ULL << (hash >> 46 & 63) | 1ULL << (hash >> 52 & 63)
        | 1ULL << (hash >> 58);
}

static int byID(const void *one, const void *other) {
    return strcmp(((const KnownID *)one)->id, ((const KnownID *)other)->id);
}

// Writes a slice of the run that is made of the older ids, and begins the next run when it is due.
static void seal(View *view) {
    int older = !view->filling;
    if (!view->isSealing && view->count >= RUN_LENGTH) {
        older = view->filling;
        view->filling = !older;
        view->sealed = 0;
        view->sealing++;
        view->isSealing = true;
        qsort(view->ids[older], view->count, sizeof(KnownID), byID);
        // How many there are, until the last is written.
        view->ids[older][view->count].seq = -1;
        view->count = 0;
    }
    long left = view->inserted > RUN_LENGTH / SLICES ? view->inserted : RUN_LENGTH / SLICES;
    view->inserted = 0;
    if (!view->isSealing) return;
    for (; left > 0 && view->ids[older][view->sealed].seq >= 0; left--) {
        KnownID *known = &view->ids[older][view->sealed++];
        sqlite3_bind_int64(view->sorted, 1, view->sealing);
        sqlite3_bind_text(view->sorted, 2, known->id, -1, SQLITE_STATIC);
        sqlite3_bind_int64(view->sorted, 3, known->channel + 1);
        sqlite3_bind_int64(view->sorted, 4, known->seq);
        run(view, view->sorted);
    }
    if (view->ids[older][view->sealed].seq >= 0) return;
    sqlite3_bind_int64(view->run, 1, view->sealing);
    sqlite3_bind_int64(view->run, 2, view->time);
    sqlite3_bind_blob(view->run, 3, view->filter[older], sizeof view->filter[older], SQLITE_STATIC);
    run(view, view->run);
    run(view, view->clear[older]);
    memset(view->filter[older], 0, sizeof view->filter[older]);
    view->isSealing = false;
}

static void finish(View *view) {
    for (int channel = 0; channel < CHANNELS; channel++) {
        if (!view->isChanged[channel]) continue;
        view->isChanged[channel] = false;
        sqlite3_bind_int64(view->head, 1, view->seq[channel]);
        sqlite3_bind_int64(view->head, 2, view->bytes[channel]);
        sqlite3_bind_int64(view->head, 3, view->time);
        sqlite3_bind_int64(view->head, 4, channel + 1);
        run(view, view->head);
    }
    seal(view);
    sqlite3_bind_int64(view->applied, 1, view->sequence);
    sqlite3_bind_blob(view->applied, 2, view->digest, sizeof view->digest, SQLITE_STATIC);
    sqlite3_bind_int64(view->applied, 3, view->time);
    run(view, view->applied);
    sqlite3_bind_int64(view->forget, 1, view->sequence - RECENT_ENTRIES);
    run(view, view->forget);
    run(view, view->commit);
}

// MARK: A tail

static int64_t sequenceOf(natsMsg *message) {
    if (!live) {
        jsMsgMetaData *data;
        check(natsMsg_GetMetaData(&data, message), "an entry without its sequence");
        int64_t sequence = data->Sequence.Stream;
        jsMsgMetaData_Destroy(data);
        return sequence;
    }
    const char *text;
    check(natsMsgHeader_Get(message, "Nats-Sequence", &text), "an entry without its sequence");
    return atoll(text);
}

static void apply(View *view, natsMsg *entry, int64_t received, float *waits, int64_t **seen) {
    int64_t sequence = sequenceOf(entry);
    if (sequence != view->sequence + 1)
        fail("entry %lld came after %lld", (long long)sequence, (long long)view->sequence);
    view->sequence = sequence;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    view->time = time.tv_sec * 1000LL + time.tv_nsec / 1000000;
    const char *at = natsMsg_GetData(entry);
    uint32_t count;
    at = take(at, &count, 4);
    for (; count; count--) {
        Message message;
        at = takeMessage(at, &message);
        store(view, &message);
        waits[message.number] = (received - message.arrived) / 1e9;
        *(*seen)++ = message.number;
        *(*seen)++ = message.arrived;
    }
    view->digest[0] = view->digest[0] * 0x100000001b3 + sequence;
    sqlite3_bind_int64(view->entry, 1, sequence);
    sqlite3_bind_blob(view->entry, 2, view->digest, sizeof view->digest, SQLITE_STATIC);
    sqlite3_bind_int64(view->entry, 3, view->time);
    run(view, view->entry);
}

// What a tail has in the end: equal for all, or one of them has taken something else.
static void inspect(View *view, long tail) {
    shared->tail[tail].rows = number(view, "SELECT count(*) FROM messages");
    int64_t ids = number(
        view, "SELECT (SELECT count(*) FROM recent_ids) + (SELECT count(*) FROM recent_ids2)"
              " + (SELECT count(*) FROM ids JOIN id_runs USING (run))");
    if (ids != shared->tail[tail].rows) fail("tail %ld has %lld ids", tail, (long long)ids);
    uint64_t digest = 0xcbf29ce484222325;
    sqlite3_stmt *rows = prepare(view, "SELECT channel, seq, id, body FROM messages"
                                       " ORDER BY channel, seq");
    while (sqlite3_step(rows) == SQLITE_ROW)
        for (int column = 0; column < 4; column++) {
            const unsigned char *at = sqlite3_column_text(rows, column);
            for (int left = sqlite3_column_bytes(rows, column); left; left--)
                digest = (digest ^ *at++) * 0x100000001b3;
        }
    sqlite3_finalize(rows);
    shared->tail[tail].digest = digest;
}

static natsSubscription *follow(natsConnection *connection, jsCtx *context) {
    natsSubscription *entries;
    if (live) {
        check(natsConnection_SubscribeSync(&entries, connection, "peer.live"), "subscribe");
    } else {
        jsSubOptions options;
        jsSubOptions_Init(&options);
        options.Ordered = true;
        options.Config.DeliverPolicy = js_DeliverAll;
        check(js_SubscribeSync(&entries, context, subject, NULL, &options, NULL), "consumer");
    }
    check(natsSubscription_SetPendingLimits(entries, -1, -1), "subscribe");
    check(natsConnection_Flush(connection), "subscribe");
    return entries;
}

static void runTail(long tail) {
    natsConnection *connection = dial();
    jsCtx *context;
    check(natsConnection_JetStream(&context, connection, NULL), "JetStream");
    if (tail == 0) {
        js_DeleteStream(context, "PEER", NULL, NULL);
        makeStream(context);
        shared->writing = writers;
        shared->made = 1;
    }
    while (!shared->made) usleep(1000);
    View *view = openView(tail);
    natsSubscription *entries = isReplay ? NULL : follow(connection, context);
    pthread_t thread;
    bool isWriter = tail < writers;
    if (isWriter) pthread_create(&thread, NULL, writeShare, (void *)tail);
    shared->ready++;
    if (isReplay) {
        while (shared->writing) usleep(1000);
        entries = follow(connection, context);
    }
    float *waits = shared->waits + tail * messages, *commits = waits + tails * messages;
    int64_t *seen = malloc((messages + 1) * 2 * sizeof *seen), done = 0;
    double before = cpu(CLOCK_THREAD_CPUTIME_ID);
    while (done < messages) {
        natsMsg *entry;
        natsStatus status = natsSubscription_NextMsg(&entry, entries, 30000);
        if (status != NATS_OK) fail("tail %ld: %s", tail, natsStatus_GetText(status));
        if (!shared->tail[tail].first) shared->tail[tail].first = now();
        run(view, view->begin);
        int64_t *last = seen;
        // Bounded, so that the ids have room in memory.
        do {
            apply(view, entry, now(), waits, &last);
            natsMsg_Destroy(entry);
        } while (last - seen < 2 * MOST_TOGETHER
                 && natsSubscription_NextMsg(&entry, entries, 0) == NATS_OK);
        finish(view);
        shared->tail[tail].transactions++;
        int64_t time = now();
        for (int64_t *at = seen; at < last; at += 2) commits[at[0]] = (time - at[1]) / 1e9;
        done += (last - seen) / 2;
        shared->tail[tail].applied = done;
        shared->tail[tail].ended = time;
    }
    shared->tail[tail].tailCPU = cpu(CLOCK_THREAD_CPUTIME_ID) - before;
    if (isWriter) pthread_join(thread, NULL);
    shared->tail[tail].cpu = cpu(CLOCK_PROCESS_CPUTIME_ID);
    inspect(view, tail);
    // The stream is removed when all have ended.
    shared->ready--;
    while (tail == 0 && shared->ready > 0) usleep(1000);
    if (tail == 0) js_DeleteStream(context, "PEER", NULL, NULL);
    sqlite3_close(view->file);
    _exit(0);
}

// MARK: Figures

static int ascending(const void *one, const void *other) {
    float a = *(const float *)one, b = *(const float *)other;
    return (a > b) - (a < b);
}

static void printWaits(const char *name, float *waits) {
    long count = tails * messages;
    qsort(waits, count, sizeof *waits, ascending);
    if (waits[0] <= 0) fail("a message was not %s at some tail", name);
    printf(", \"%s\": [%.2f, %.2f, %.2f]", name, waits[count / 2] * 1e3,
           waits[(long)(count * 0.99)] * 1e3, waits[count - 1] * 1e3);
}

static int measure(void) {
    size_t size = sizeof(Shared) + sizeof(float) * 2 * tails * messages;
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("no memory");
    pid_t children[MOST_TAILS];
    for (long tail = 0; tail < tails; tail++)
        if ((children[tail] = fork()) == 0) runTail(tail);
    for (long left = tails; left; left--) {
        int status;
        wait(&status);
        if (!status) continue;
        // The others would wait for it for ever.
        for (long tail = 0; tail < tails; tail++) kill(children[tail], SIGTERM);
        return 1;
    }
    int64_t ended = 0, began = isReplay ? INT64_MAX : shared->began;
    for (long tail = 0; tail < tails; tail++) {
        if (shared->tail[tail].ended > ended) ended = shared->tail[tail].ended;
        if (isReplay && shared->tail[tail].first < began) began = shared->tail[tail].first;
        if (shared->tail[tail].rows != messages)
            fail("tail %ld has %lld messages", tail, (long long)shared->tail[tail].rows);
        if (shared->tail[tail].digest != shared->tail[0].digest)
            fail("tail %ld has other messages than tail 0", tail);
    }
    double taken = (ended - began) / 1e9;
    printf("{\"messages\": %ld, \"seconds\": %.3f, \"rate\": %.0f, \"published\": %.3f", messages,
           taken, messages / taken, (shared->published - shared->began) / 1e9);
    printf(", \"entries\": %lld", (long long)shared->tail[0].transactions);
    printWaits("received", shared->waits);
    printWaits("committed", shared->waits + tails * messages);
    printf(", \"cpu\": [");
    for (long tail = 0; tail < tails; tail++)
        printf("%s%.2f", tail ? ", " : "", shared->tail[tail].cpu);
    printf("], \"tailCPU\": [");
    for (long tail = 0; tail < tails; tail++)
        printf("%s%.2f", tail ? ", " : "", shared->tail[tail].tailCPU);
    printf("]}\n");
    return 0;
}

// MARK: The probe

static _Atomic int64_t lastAck, longest, longestBegan, acks;

static void probed(jsCtx *c, natsMsg *message, jsPubAck *ack, jsPubAckErr *error, void *at) {
    (void)c;
    (void)at;
    natsMsg_Destroy(message);
    if (error || !ack) return;
    int64_t time = now();
    if (lastAck && time - lastAck > longest) {
        longestBegan = lastAck;
        longest = time - lastAck;
    }
    lastAck = time;
    acks++;
}

static int probe(void) {
    natsConnection *connection = dial();
    jsCtx *context;
    jsOptions options;
    jsOptions_Init(&options);
    // What is lost with its leader stays under way.
    options.PublishAsync.MaxPending = 1000000;
    options.PublishAsync.AckHandler = probed;
    check(natsConnection_JetStream(&context, connection, &options), "JetStream");
    int64_t began = now();
    for (int64_t n = 0; n / rate < seconds; n++) {
        sleepUntil(began + (int64_t)(n / rate * 1e9));
        js_PublishAsync(context, subject, "probe", 5, NULL);
    }
    printf("{\"acknowledged\": %lld, \"longest\": %.3f, \"began\": %.3f}\n", (long long)acks,
           longest / 1e9, longestBegan / 1e9);
    fflush(stdout);
    _exit(acks ? 0 : 1);
}

int main(int count, char **words) {
    const char *command = count > 1 ? words[1] : "";
    struct { const char *name; long *whole; double *real; const char **text; } options[] = {
        {"--url", 0, 0, &url}, {"--folder", 0, 0, &folder}, {"--subject", 0, 0, &subject},
        {"--messages", &messages, 0, 0}, {"--bytes", &bodyBytes, 0, 0},
        {"--entry", &perEntry, 0, 0}, {"--flight", &flight, 0, 0}, {"--writers", &writers, 0, 0},
        {"--tails", &tails, 0, 0}, {"--replicas", &replicas, 0, 0}, {"--live", &live, 0, 0},
        {"--rate", 0, &rate, 0}, {"--seconds", 0, &seconds, 0}};
    size_t known = sizeof options / sizeof *options;
    for (int word = 2; word + 1 < count; word += 2) {
        size_t at = 0;
        while (at < known && strcmp(options[at].name, words[word])) at++;
        if (at == known) fail("unknown: %s", words[word]);
        if (options[at].whole) *options[at].whole = atol(words[word + 1]);
        if (options[at].real) *options[at].real = atof(words[word + 1]);
        if (options[at].text) *options[at].text = words[word + 1];
    }
    if (tails < 1 || tails > MOST_TAILS || writers < 1 || writers > tails || perEntry < 1
        || perEntry > MOST_TOGETHER || flight < 1 || flight > MOST_FLIGHT || messages < 1)
        fail("a number is out of its range");
    isReplay = !strcmp(command, "replay");
    if (isReplay) live = 0;
    if (isReplay || !strcmp(command, "store")) return measure();
    if (!strcmp(command, "probe") && rate > 0) return probe();
    fail("store, replay or probe; probe needs --rate");
}
