// Every bound of millrace, with its reason. Defaults of settings are in ops/; these are what settings may be and what is fixed.

/** 2^53 − 1: offsets are JavaScript numbers; the wire's int64 is checked against it. */
export const OFFSET_MAX = Number.MAX_SAFE_INTEGER;

/** The largest segment: positions cross into native code as int32. */
export const SEGMENT_BYTES_MAX = 1024 * 1024 * 1024;

/** The longest topic name, so that `<topic>-<partition>` stays below the 255 bytes of a file name. */
export const TOPIC_NAME_MAX = 249;

/** Partitions of a topic: five digits keep directory names short and 99 999 is far beyond what one process serves. */
export const PARTITIONS_MAX = 99_999;

/** Batches waiting in one partition's mailbox: more than a turn of the selector brings, at about 60 bytes for each. */
export const MAILBOX_ENTRIES_MAX = 262_144;
/** What an idle partition's mailbox has room for: ten thousand partitions are then a few megabytes. */
export const MAILBOX_ENTRIES_FIRST = 16;
/** What an idle partition has room for of batches that wait for a barrier. Their number is bounded by open requests. */
export const WAITERS_FIRST = 16;

/** How long a run of the log's scheduler may hold the event loop: a tenth of what a person notices. */
export const RUN_MAX_MS = 5;
/** A run looks at the clock once in so many bytes (about 0.1 ms of copying): reading it costs as much as a small batch. */
export const RUN_CLOCK_BYTES = 256 * 1024;
/** A partition's least share of a round, so that thousands of ready partitions do not write a batch at a time. */
export const WRITER_SHARE_MIN = 64 * 1024;

/** Staging is handed out and reused in such chunks: large enough for one copy, small enough to be shared fairly. */
export const STAGING_CHUNK_BYTES = 256 * 1024;
/** Staging kept for the next time. What a worse hour needed beyond it goes back to the system. */
export const STAGING_POOL_BYTES = 8 * 1024 * 1024;

/** How often a partition that is written to is looked after (roll by time, populate window, checkpoint). */
export const UPKEEP_INTERVAL_MS = 200;
/**
 * How often it is still looked after when nothing is written any more and no segment was rolled: until its window is closed,
 * and one tick longer than SEAL_AFTER_MS, so that what was rolled before is sealed.
 */
export const UPKEEP_QUIET_TICKS = 11;

/** Names in one METADATA request. Each becomes a string on the event loop: 10 000 cost about a millisecond, 8 MiB of them 300. */
export const METADATA_TOPICS_MAX = 10_000;

/** Partitions of one FETCH v3. Each is planned on the event loop: a request of this many takes about as long as a turn may. */
export const FETCH_PARTITIONS_MAX = 1_000;

/** Batches of one native append call: as many as a turn can bring. */
export const APPEND_TURN_ROWS = 4096;
/** Bytes of one native append call: several arenas, since batches that waited are written together with new ones. */
export const APPEND_TURN_BYTES = 4 * 1024 * 1024;

/** Partitions that open at the same time: recovery reads the disk, and a disk serves a few readers better than hundreds. */
export const OPEN_PARTITIONS_AT_ONCE = 8;

/** Problems of one kind that produces without acknowledgement meet are counted, and told to the operator at most this often. */
export const UNACKNOWLEDGED_ERROR_LOG_MS = 10_000;

/**
 * For answers of so many partitions the case that a slice cannot be read is written out by partition: more would cost each answer
 * as much as itself for what hardly ever happens. Beyond it the whole request is refused.
 */
export const INSTEAD_PARTS_MAX = 64;
/** A segment that could not be read is refused for this long to those who ask for several: each try costs a disk its time-out. */
export const UNREADABLE_MS = 5_000;
/** So many segments are remembered as unreadable; a disk that fails altogether has more, and the oldest are forgotten. */
export const UNREADABLE_MAX = 1024;
/** The operator hears of a segment that cannot be read at most this often; how often it happened stands there. */
export const UNREADABLE_LOG_MS = 10_000;

/** The operator hears of pauses at most this often, and that they are over after this long without one. */
export const PAUSE_LOG_MS = 10_000;

/** How often the space on the disk is asked for. Between two questions it is reckoned from what was reserved. */
export const DISK_CHECK_MS = 1_000;

/** Partitions that are looked for on the disk at each of these times: ten thousand within three minutes, for a millisecond a second. */
export const PRESENCE_LOOKS = 64;

/** Replies of a turn are gathered here before one native call sends them: 20 000 of PRODUCE; larger ones go in several calls. */
export const REPLY_ARENA_BYTES = 512 * 1024;

/** Rows that one native flush takes: one for each connection of a turn and one more for each file slice. */
export const FLUSH_ROWS = 4096;

/** Requests that one turn hands over. More wait in their sockets: it bounds how long a turn can take. */
export const FRAME_ROWS = 4096;

/** Connections that one turn reports as opened or closed. More are reported by the next one. */
export const CONNECTION_EVENTS = 1024;

/** What one connection may bring in in a turn: one that has much to say delays the others by this much at a time. */
export const TURN_BYTES_IN = 256 * 1024;
/**
 * What one connection may send in a turn, for the same reason. A slice that is over with a quarter more is not cut for it. Slices of all
 * together are at most twice this.
 */
export const TURN_BYTES_OUT = 512 * 1024;

/** The arena of a turn beside the room for one frame of the largest size. It should fit the processor's cache. */
export const ARENA_TURN_BYTES = 1024 * 1024;

/**
 * Fetches that are answered before other work gets its chance: a lookup for each, and where each is on a connection of its own
 * two system calls, 5 µs in all.
 */
export const PLANS_PER_FLUSH = 512;
/** Of these, what one connection gets before it is another one's turn. */
export const PLANS_PER_SESSION = 128;

/** Waiting fetches that one turn looks at after a publish: about a millisecond when they lie far apart in memory. */
export const LOOKS_PER_TURN = 512;

/** What a partition of a waiting FETCH v3 takes in memory beside the request itself: measured 150 bytes. */
export const WAITING_PART_BYTES = 160;

/** Times that the disk is read for one FETCH. What is still not in memory then, because others pushed it out, comes back empty. */
export const FETCH_LOADS_MAX = 8;
/** Partitions of one FETCH v3 for which the disk is read at the same time: more would push each other out of the caches. */
export const FETCH_LOADS_AT_ONCE = 16;

/** METADATA that one flush writes, in time: an answer about thousands of partitions takes a millisecond. */
export const METADATA_FLUSH_MS = 2;

/** Until a connection that owes its peer too many bytes is looked at again; nothing else wakes an answer that was put off. */
export const PUT_OFF_MS = 10;
/** Of those, how many at a time: a tenth of a millisecond of work every ten. */
export const PUT_OFF_LOOKS = 512;

/**
 * What of `queued.bytes.max` answers may fill that peers do not take. Beyond it a connection gets its next answer when it has taken
 * the last one. Without it peers that read nothing fill all of the bound, and more, with answers to requests that were read before;
 * nobody is read then until they are closed. A quarter, because fetches that are kept may take half.
 */
export const OUTPUT_SHARE = 0.25;
/** What a FETCH v3 brings of so many partitions when that share is full: each slice that waits takes more than half a KiB. */
export const CROWDED_SLICES_MAX = 16;
/** What of `connection.queued.bytes.max` heads of FETCH v3 answers may fill: in the queue each takes 13 times its bytes. */
export const MULTI_FETCH_OWED_SHARE = 1 / 16;

/** After the last answer of a stopping broker its sockets are read for so long, so that no unread byte turns the close into a reset. */
export const STOP_LINGER_MS = 1_000;
/**
 * How long after its last request a connection that produces is kept open by a stop, so that what it sends next is refused: what meets
 * the end of the connection on its way is neither, and its producer cannot know. A producer pauses less between two requests, or it
 * rarely sends in the fraction of a millisecond that its request is on its way.
 */
export const STOP_GRACE_MS = 250;
/** All of them together: a peer that goes on sending although it is refused must not keep the broker. */
export const STOP_GRACE_MS_MAX = 1_000;
/** How often it is looked whether any is left: so much longer does a stop take at most. */
export const STOP_LOOK_MS = 2;

/** The same signal again within so long is no second wish: a terminal sends ^C to the whole group, and npm passes its own on. */
export const SIGNAL_ECHO_MS = 500;

/** Files of sealed segments that may stay open at the least, so that readers of old data do not open one for each fetch. */
export const SEALED_FILES_MIN = 64;
/** And at the most: looking for the one to close goes through all of them. */
export const SEALED_FILES_MAX = 4096;

/** Descriptors of a partition: its lock, the active segment, the next one, and one that is being sealed or read. */
export const DESCRIPTORS_PER_PARTITION = 5;

/** Descriptors of everything else: listeners, the event loop, stdio, the side port, files that are open for a moment. */
export const DESCRIPTORS_OTHER = 160;

/** Lines for the operator that wait while nobody reads stderr. Beyond it they are dropped: memory counts for more. */
export const LOG_QUEUE_BYTES_MAX = 1024 * 1024;
/** What a reader of stderr that is slow gets at the end of the process: the last lines matter, and a stop must not hang on them. */
export const LOG_FLUSH_MS = 500;

/** What a request to the side port may take. */
export const OPS_REQUEST_MS = 5_000;
/** How often that is looked at. Node does it twice a minute, and sixty-four connections that ask nothing would keep a probe out for as long. */
export const OPS_CHECK_MS = 1_000;
/** A connection of the side port that takes nothing of its answer for so long is cut. A live tail that is quiet sends a sign of life twice in it. */
export const OPS_STALL_MS = 30_000;

/** Connections of the side port. It is for a few probes and a person; more would take descriptors from the log. */
export const OPS_CONNECTIONS_MAX = 64;
/** Partitions that /metrics shows one by one: eight lines of each, half a megabyte in all. How many were left out is a metric, too. */
export const METRICS_PARTITIONS_MAX = 1_000;
/** How often the numbers are taken that charts are drawn of. */
export const RATE_SAMPLE_MS = 1_000;
/** How many of them are kept: ten minutes, 120 KiB. */
export const RATE_SAMPLES = 600;
/** How often the event loop is asked how late it is, while it has work: each time costs some microseconds. */
export const LOOP_PROBE_MS = 20;
/** A share of the time in work below which it is not asked: an idle broker must not be woken fifty times a second for it. */
export const LOOP_BUSY_SHARE = 0.02;
/** Topics, partitions or segments on one page of the API: a page is made in a millisecond. */
export const API_PAGE_ITEMS_MAX = 1_000;
/** Records on one page of the API. */
export const API_PAGE_RECORDS_MAX = 1_000;
/** What is read of the log for one page: checked, encoded and written in a millisecond. */
export const API_PAGE_BYTES_MAX = 256 * 1024;
/** Reads of the log that the side port makes at the same time: half of the threads that read, so that fetches have the others. */
export const API_READS_AT_ONCE = 2;
/** Live tails at the same time. Each reads the log some times a second. */
export const TAILS_MAX = 16;
/** Partitions that one live tail looks at. */
export const TAIL_PARTITIONS_MAX = 64;
/** How often a live tail is sent what is new: a person sees no difference to at once. */
export const TAIL_INTERVAL_MS = 200;
/** Records of one event of a live tail: more than a person reads. What came beyond them is counted and left out. */
export const TAIL_RECORDS_MAX = 40;
/** What is read of a partition for one event of a live tail. */
export const TAIL_BYTES_MAX = 64 * 1024;
/** What may wait for a reader of a live tail that is slow. Beyond it, it is dropped: it would not be live any more. */
export const TAIL_QUEUED_BYTES_MAX = 512 * 1024;
/** How often a live tail is sent a comment when nothing comes, so that an end of the connection shows. */
export const TAIL_ALIVE_MS = 15_000;

/** Bytes that a client receives with one system call. Larger made no difference for 1 MiB answers, smaller made more calls. */
export const CLIENT_READ_BYTES = 256 * 1024;
/** So much must be missing of an answer for the socket to read straight into it: below it, what comes behind would take a read of its own. */
export const CLIENT_READ_IN_PLACE_BYTES = 64 * 1024;
/** Read of an answer before its memory is there, when it will be a large one: its head, and little that is copied from here to there. */
export const CLIENT_READ_HEAD_BYTES = 4 * 1024;
/** Memory of answers that was given back is kept up to so many bytes: the batch in hand, the one ahead, and twice that for a second reader. */
export const CLIENT_SPARE_BYTES = 8 * 1024 * 1024;
/** Memory for answers is measured in such steps, so that an answer a few bytes longer fits where another was; below it, nothing is kept. */
export const CLIENT_SPARE_GRANULE_BYTES = 64 * 1024;
/** From such an answer on the heap is told to keep what was freed: those of the default size come at no such speed. */
export const CLIENT_LARGE_ANSWER_BYTES = 2 * 1024 * 1024;
/** The largest block that glibc learns from when it is freed (32 MiB), with what it adds to it itself. */
export const CLIENT_HEAP_LESSON_BYTES = 32 * 1024 * 1024 - 64 * 1024;
/** Small requests of one tick are gathered in such chunks; a larger one gets a chunk of its own. */
export const CLIENT_CHUNK_BYTES = 64 * 1024;
/** Requests of one tick are sent before the tick's end once they are so many bytes, so that the kernel can begin. */
export const CLIENT_FLUSH_BYTES = 512 * 1024;
/** The largest answer a client takes that has no bound from its own request (METADATA): 99 999 partitions of 300 topics. */
export const CLIENT_ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Records of a batch that a client lays out: `max.frame.bytes` of a broker goes up to this, and what gives them may have no end. */
export const CLIENT_REGION_BYTES_MAX = 256 * 1024 * 1024;
/** The least `maxBytes` of a consumer: a header always fits, so the size of a record that does not is always known. */
export const CLIENT_FETCH_BYTES_MIN = 16;

/** What one partition may have populated ahead of its writer: 64 MiB were enough to keep 5 GB/s free of page faults. */
export const POPULATE_AHEAD_PARTITION_MAX = 64 * 1024 * 1024;

/** Blocks that a partition reserves at first, so that many quiet ones take little of the disk. */
export const RESERVE_WINDOW_MIN = 1024 * 1024;
/** Blocks that a partition reserves at a time when it is filled: at least what may be populated ahead. */
export const RESERVE_WINDOW_MAX = 64 * 1024 * 1024;

/**
 * A segment that was rolled and that nobody forces is sealed after this time. Not at once: writing 128 MiB to the disk while
 * the next ones are filled makes a burst two to four times slower (MAPPED 0.6 against 2.2, FILE_CHANNEL 1.1 against 2.5 GB/s).
 */
export const SEAL_AFTER_MS = 2_000;
/** … or when so much waits to be sealed in one partition: what a start after a kill reads beside the active segment. */
export const UNSEALED_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/** The checkpoint is written at most so often while a partition is forced: it bounds what recovery may not judge by it. */
export const CHECKPOINT_INTERVAL_MS = 1_000;
/** Epochs that a partition remembers: what fits one slot of the checkpoint. Older ones are merged, never forgotten. */
export const EPOCHS_MAX = 300;

/** What `millrace produce`, or a producer, has on its way: enough for a barrier of tens of milliseconds at gigabytes per second, and no more. */
export const PRODUCE_IN_FLIGHT_BYTES = 16 * 1024 * 1024;
/** The same in batches, and so in requests: half of the 1024 that a broker takes from one connection before it stops reading it. */
export const PRODUCE_IN_FLIGHT_BATCHES = 512;
/** Batches that wait go out in one request up to here: see docs/decisions.md for what smaller and larger ones cost. */
export const PRODUCE_REQUEST_BYTES = 2 * 1024 * 1024;
/** The first pause before `millrace produce` sends a refused batch again: an overload is over in milliseconds. */
export const PRODUCE_RETRY_MS_MIN = 20;
/** The longest pause: room on a disk is noticed within a second. */
export const PRODUCE_RETRY_MS_MAX = 1_000;
/** How long `millrace produce` tries a batch again that was refused for now, unless told otherwise. */
export const PRODUCE_RETRY_MS = 10_000;
/** How long a verb may take to end after the first signal, for answers that are due and output that is slow. A person waits. */
export const CLI_SIGNAL_WAIT_MS = 3_000;

/** How often `millrace consume --checkpoint` saves: two barriers each time, and what a kill prints again. */
export const CLI_CHECKPOINT_MS = 1_000;

/** How often `millrace backup` looks at a partition again that retention changes under it: each time it has to be faster than a roll. */
export const BACKUP_TRIES = 10;

/** Where the embedded log lays out what is appended in one iteration of the loop: a native call's worth, below the L2 cache. */
export const EMBEDDED_REGION_BYTES = 1024 * 1024;
/** What of it may wait in the writer for room on the disk; the rest waits in the program's own memory. */
export const EMBEDDED_WAITING_BYTES = 4 * 1024 * 1024;
/** A batch of the embedded log: it is laid out in one piece of memory. */
export const EMBEDDED_BATCH_BYTES_MAX = 256 * 1024 * 1024;
/** Batches of one native call of the embedded log, which has one partition. */
export const EMBEDDED_TURN_ROWS = 1024;
/** What a read of the embedded log brings by default: the hop to a reading thread is then lost in it. */
export const EMBEDDED_READ_BYTES = 1024 * 1024;
/** Offset indexes of sealed segments that an embedded log keeps in memory: those of a few GiB of log at the default interval. */
export const EMBEDDED_INDEX_CACHE_BYTES = 16 * 1024 * 1024;
/** Sealed segments that an embedded log keeps open. */
export const EMBEDDED_SEALED_FILES = 32;
/** Pages populated ahead of an embedded log's writer. */
export const EMBEDDED_POPULATE_BYTES = 64 * 1024 * 1024;
/** How often an embedded log with retention looks for segments to remove: it is all that bounds a program that fills it fast. */
export const EMBEDDED_RETENTION_CHECK_MS = 1_000;
/** How long a follower of an embedded log waits at a time: nothing is done in between, so it only bounds how long a wait lives. */
export const EMBEDDED_FOLLOW_MS = 3_600_000;

/** How long a reader that has caught up waits before it asks again, of a broker that cannot wait: not seen by a person. */
export const CLIENT_POLL_MS = 100;
/** How long a follower lets the broker wait: longer, and a dead network is noticed late; shorter, and it asks often for nothing. */
export const CLIENT_FOLLOW_WAIT_MS = 20_000;
/** What one answer to a follower of several partitions may bring: the largest that is worth its memory twice, read and ahead. */
export const CLIENT_FOLLOW_BYTES = 4 * 1024 * 1024;
/** The first pause before a follower connects again: a restart is seen at once. */
export const CLIENT_RECONNECT_MS_MIN = 50;
/** The longest pause: an outage costs little, and its end is noticed within seconds. */
export const CLIENT_RECONNECT_MS_MAX = 5_000;
/**
 * A silent connection is probed after so long, and given up ten seconds later: without it the kernel asks after two hours, and a
 * firewall between the two has forgotten the connection long before. Below the wait of a follower's fetch it would only cost.
 */
export const CLIENT_KEEP_ALIVE_MS = 30_000;
/** How long a client tries again what may be asked twice: longer than a restart takes, shorter than anybody looks at nothing. */
export const CLIENT_RETRY_MS = 30_000;
/** How often a position is moved after refusals before the broker has answered from it: a place that retention overtakes, not a fault. */
export const CLIENT_START_TRIES = 8;
/** The least time between two saves of a checkpoint: two barriers of a file, about 5 ms, are then a twentieth of the time. */
export const CHECKPOINT_EVERY_MS = 100;

/** A directory of an ephemeral broker that nobody has locked is left alone for so long: its broker is about to. */
export const EPHEMERAL_UNLOCKED_MS = 60_000;

/** How long a producer's first record of a batch waits for others, unless told otherwise: what comes while requests are in flight is gathered anyhow. */
export const PRODUCER_LINGER_MS = 0;
/** A producer's batch, unless told otherwise: see docs/decisions.md for what smaller and larger ones cost. */
export const PRODUCER_BATCH_BYTES = 256 * 1024;
/** Records of a batch, unless told otherwise: settling them holds the event loop for some milliseconds. */
export const PRODUCER_BATCH_RECORDS = 16_384;
/** Requests of one partition in flight, unless told otherwise: enough to hide the way there and back behind a barrier. */
export const PRODUCER_REQUESTS_IN_FLIGHT = 5;
/** What a producer's records that were not acknowledged may take, unless told otherwise: four times what may be in flight. */
export const PRODUCER_QUEUED_BYTES = 64 * 1024 * 1024;
/** The part of it from which on there is no room: what waits longer outlives collections, and a record then costs twice as much. */
export const PRODUCER_ROOM_PART = 1 / 8;
/** What is kept of a record beside its bytes: its promise, what calls it back, and its result. Measured: see docs/decisions.md. */
export const PRODUCER_RECORD_OVERHEAD_BYTES = 192;
/** How long a producer tries to get a record written, unless told otherwise: a restart of a broker with much to recover. */
export const PRODUCER_DELIVERY_MS = 60_000;
/** How often at the most is looked for what waits too long, for those who let it wait for milliseconds. */
export const PRODUCER_LOOK_MS_MIN = 5;
/** … and at the least: late by a second is near enough. */
export const PRODUCER_LOOK_MS_MAX = 1_000;
/** Regions that a producer keeps for batches to come: a few megabytes at the default size. */
export const PRODUCER_SPARES_MAX = 16;

/** Of partition.json and millrace.json, which have some twenty bytes: enough to show what somebody else put there. */
export const SMALL_FILE_BYTES_MAX = 64 * 1024;
