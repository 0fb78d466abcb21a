/*
 * The protocol in small: A, a Map with a branch B for each of two items, and a join C; an execution that may be stopped,
 * redriven and forked.
 *
 * Deliveries are processes that die between any two calls, copies of deliveries run beside them, and events are lost.
 * Every store primitive is one atomic step; between two of them anything may happen. Values are the numbers of the runs
 * of A that made them, so an outcome that comes from elsewhere shows.
 *
 * -DMISTAKE=n plants one of the mistakes below, each of which the checks must find. Every call prints a line that
 * starts with "@", by which tests/formal/replay.py makes the same moves in the simulator.
 */

#define LOSER_STOPS          1  /* who finds the name taken does not continue */
#define OWN_OUTCOME          2  /* who finds the name taken continues from its own outcome */
#define COUNTER              3  /* completions are counted, not collected in a set */
#define COMPLETE_FIRST       4  /* a branch is completed before its outcome is committed */
#define ONLY_AT_TRANSITION   5  /* only the addition that fills the set continues */
#define OVERWRITE            6  /* a commit needs no absent name */
#define STOP_BESIDE          7  /* the stop takes another name than the next step */
#define REDRIVE_OPENS_FIRST  8  /* a redrive opens the new scope before it has copied */
#define REDRIVE_IN_PLACE     9  /* a redrive keeps the generation of the scope */
#define FORK_IS_A_START     10  /* a fork writes an ordinary start record */
#define NUDGE_ADDS_NOTHING  11  /* a nudge does not repeat additions to the set */

#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef REDRIVES
#define REDRIVES 0
#endif
#ifndef FORKS
#define FORKS 0
#endif
#ifndef WORKERS
#define WORKERS 2
#endif

#define EXECUTIONS (1 + FORKS)
#define GENERATIONS (1 + REDRIVES)
#define BRANCHES 2
#define ALL 3

/* Names of the top level: 1 is A's outcome, 2 the end of the first scope, 3 the entry of the second, 4 its end. */
#define STEPS (2 * GENERATIONS + 1)
#define TOP(e, step) top[(e) * STEPS + (step)]
#define END_OF(g) (2 * (g) + 2)

/* What a top-level step holds: nothing, A's run, the second entry, or an end. */
#define NOTHING 0
#define ENTERED 9
#define FAILED 10
#define STOPPED 11
#define JOINED 12  /* plus A's run */
#define IS_END(kind) ((kind) >= FAILED)

/* Names inside scopes. */
#define B(e, g, i) (((e) * GENERATIONS + (g)) * BRANCHES + (i))
#define SCOPE(e, g) ((e) * GENERATIONS + (g))

/* Events: A of an execution, branch i of a scope, C of a scope. */
#define EVENTS_OF_ONE (1 + GENERATIONS * (BRANCHES + 1))
#define A_OF(e) ((e) * EVENTS_OF_ONE)
#define B_OF(e, g, i) (A_OF(e) + 1 + (g) * (BRANCHES + 1) + (i))
#define C_OF(e, g) (A_OF(e) + 1 + (g) * (BRANCHES + 1) + BRANCHES)
#define EVENTS (EXECUTIONS * EVENTS_OF_ONE)

/* Start records. */
#define STARTED 1
#define FORKING 2

byte top[EXECUTIONS * STEPS];
byte writes[EXECUTIONS * STEPS];
byte branch[EXECUTIONS * GENERATIONS * BRANCHES];
byte completed[EXECUTIONS * GENERATIONS];
byte additions[EXECUTIONS * GENERATIONS];
byte record[EXECUTIONS];

/* Waiting events: one bit for each input, which is a run of A; A and C have none and use the first. */
byte waiting[EVENTS];

byte crashes = CRASHES, copies = COPIES, losses = LOSSES, failures = FAILURES;
byte runs;       /* of A, in all executions */
bool stopping;   /* somebody has asked for a stop */
bool redriving;  /* the redrive has committed */
bool forked;     /* the fork has begun */

inline create(e, step, kind, found) {
	/* Create if absent; `found` is what the name has afterwards. */
	if
	:: TOP(e, step) == NOTHING || MISTAKE == OVERWRITE ->
		assert(TOP(e, step) == NOTHING);
		TOP(e, step) = kind
	:: else
	fi;
	found = TOP(e, step)
}

inline last_step(e, at) {
	at = 0;
	do
	:: at + 1 < STEPS && TOP(e, at + 1) != NOTHING -> at++
	:: else -> break
	od
}

/* A delivery dies here, perhaps; a copy is not repeated. */
inline may_die(e, event, input) {
	if
	:: crashes > 0 -> atomic {
		crashes--;
		printf("@ %d dies\n", _pid);
		if
		:: is_copy
		:: else -> waiting[event] = waiting[event] | (1 << input)
		fi;
		goto over
	}
	:: true
	fi
}
