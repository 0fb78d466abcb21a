/*
 * The protocol in small: A, a fan-out with two branches B, and a join C; an execution that may be stopped, redriven and
 * forked.
 *
 * Deliveries die between any two calls, copies of deliveries run beside them, and events are lost. Every primitive of the
 * store is one atomic step; between two of them anything may happen. A value is the number of the run of A that made it,
 * so an outcome from elsewhere shows.
 *
 * Safety: a committed outcome never changes, no execution has two ends, a branch runs on what A committed, the join reads
 * both branches, a redrive repeats no success, a fork keeps its origin's outcomes.
 * Liveness, under weak fairness: every execution ends.
 *
 * -DMISTAKE=n plants a mistake, which a check must find. A counterexample is shown by `spin -t`: lines that start with "@"
 * name the process and the call. tests/formal/replay.py makes the same calls in the simulator.
 */

#define LOSER_STOPS         1  /* a delivery that finds the name taken does not continue */
#define OWN_OUTCOME         2  /* a delivery that finds the name taken continues from its own outcome */
#define COUNTER             3  /* completions are counted, not collected in a set */
#define COMPLETE_FIRST      4  /* a branch is completed before its outcome is committed */
#define ONLY_AT_TRANSITION  5  /* only the addition that changes the set continues */
#define OVERWRITE           6  /* a commit needs no absent name */
#define STOP_BESIDE         7  /* a stop takes a name after the next step's */
#define OPENS_FIRST         8  /* a redrive opens the new scope before it has copied */
#define FORK_IS_A_START     9  /* a fork writes an ordinary start record */
#define NUDGE_ADDS_NOTHING 10  /* a nudge does not repeat additions to the set */

#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef COPIES
#define COPIES 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef DELIVERIES
#define DELIVERIES 2
#endif
#ifndef FAILURES
#define FAILURES 0
#endif

/* Top level: step 1 is A's outcome. Then the scope's end, the entry of a redrive's scope, its end; in the fork: the entry
 * of its own scope, its end. */
#define TOP(e, step) top[5 * (e) + (step)]
#define END_OF(e, g) (2 + 2 * (g) + (e))
#define NOTHING 0
#define ENTERED 9
#define FAILED  10
#define STOPPED 11
#define JOINED  12
#define IS_END(kind) ((kind) >= FAILED)
#define IS_RUN(kind) ((kind) == 1 || (kind) == 2)

#define SCOPE(e, g) (2 * (e) + (g))
#define BRANCH(e, g, i) branch[2 * SCOPE(e, g) + (i)]
#define ALL 3

#define A_OF(e) (7 * (e))
#define B_OF(e, g, i) (7 * (e) + 1 + 3 * (g) + (i))
#define C_OF(e, g) (7 * (e) + 3 + 3 * (g))
#define EVENTS 14

#define STARTED 1
#define FORKING 2

byte top[10];
byte branch[8];       /* of both executions' scopes: nothing, the run of A that it is made of, or FAILED */
byte completed[4];
byte additions[4];
byte record[2];
byte waiting[EVENTS]; /* a bit for each input that the event waits with */
byte sent[EVENTS];    /* the same, ever: a copy may come at any time */
byte ends[2];         /* since the last redrive */
byte runs;            /* of A, in all executions; the second stands for all later ones */
byte kept;            /* branches that had succeeded when a redrive began */
byte working;         /* deliveries, and requests of operators */
byte crashes = CRASHES, copies = COPIES, losses = LOSSES, failures = FAILURES;

#define ENDED_0 (TOP(0, 1) == STOPPED || (IS_END(TOP(0, 2)) && TOP(0, 3) == NOTHING) || IS_END(TOP(0, 4)))
#define ENDED_1 (record[1] == NOTHING || TOP(1, 1) == STOPPED || IS_END(TOP(1, 3)) || IS_END(TOP(1, 2)))
#define WAITS(n) (waiting[n] != 0)
/* A sweep asks for executions that were silent for longer than a delivery may take. */
#define IS_SILENT(e) !(working || WAITS(7 * e) || WAITS(7 * e + 1) || WAITS(7 * e + 2) || WAITS(7 * e + 3) || \
	(e == 0 && (WAITS(4) || WAITS(5) || WAITS(6))))
ltl every_execution_ends { <> [] (ENDED_0 && ENDED_1) }

inline send(event, input) {
	waiting[event] = waiting[event] | input;
	sent[event] = sent[event] | input
}

/* Create if absent; `found` is what the name holds afterwards. */
inline create(e, step, kind, found) {
	if
	:: TOP(e, step) == NOTHING || (MISTAKE == OVERWRITE && step == 1) ->
		assert(TOP(e, step) == NOTHING || TOP(e, step) == kind);
		TOP(e, step) = kind;
		if
		:: IS_END(kind) -> ends[e]++; assert(ends[e] == 1)
		:: kind == ENTERED -> ends[e] = 0
		:: else
		fi
	:: else
	fi;
	found = TOP(e, step)
}

inline add(e, g, i, is_full) {
	is_full = MISTAKE == ONLY_AT_TRANSITION && (completed[SCOPE(e, g)] & (1 << i));
	completed[SCOPE(e, g)] = completed[SCOPE(e, g)] | (1 << i);
	if
	:: MISTAKE == COUNTER -> additions[SCOPE(e, g)]++
	:: else
	fi;
	is_full = !is_full && (completed[SCOPE(e, g)] == ALL || (MISTAKE == COUNTER && additions[SCOPE(e, g)] == 2))
}

#define MAY_DIE \
	if \
	:: atomic { crashes > 0 -> crashes--; died = true; printf("@ %d dies\n", _pid) }; goto over \
	:: true \
	fi

#define TAKE(n) atomic { (waiting[n] || (copies > 0 && sent[n])) -> event = n }

active [DELIVERIES] proctype Delivery() {
	byte event, input, e, g, i, outcome, other, at;
	bool is_copy, died, is_full;
end:	do
	:: atomic {
		if
		:: TAKE(0) :: TAKE(1) :: TAKE(2) :: TAKE(3) :: TAKE(4) :: TAKE(5) :: TAKE(6)
		:: TAKE(7) :: TAKE(8) :: TAKE(9) :: TAKE(10)
		fi;
		if
		:: waiting[event] & 1 -> input = 1; is_copy = false; waiting[event] = waiting[event] & 2
		:: waiting[event] & 2 -> input = 2; is_copy = false; waiting[event] = waiting[event] & 1
		:: copies > 0 && (sent[event] & 1) -> input = 1; is_copy = true; copies--
		:: copies > 0 && (sent[event] & 2) -> input = 2; is_copy = true; copies--
		fi;
		e = event / 7;
		g = (event % 7) / 4;
		i = (event % 7 + 2) % 3;
		died = false;
		working++;
		if
		:: is_copy -> printf("@ %d repeats %d\n", _pid, event)
		:: else -> printf("@ %d takes %d\n", _pid, event)
		fi
	   };
	   if
	   :: atomic { !is_copy && losses > 0 -> losses--; printf("@ %d lost\n", _pid) }; goto over
	   :: true
	   fi;
	   if
	   :: event == A_OF(e) ->
		atomic { outcome = TOP(e, 1); printf("@ %d look\n", _pid) };
		MAY_DIE;
		if
		:: outcome == NOTHING ->
			assert(e == 0);  /* the fork has A's outcome from its origin */
			atomic {
				if
				:: runs < 2 -> runs++
				:: else
				fi;
				outcome = runs
			};
			MAY_DIE;
			atomic {
				printf("@ %d create\n", _pid);
				create(e, 1, outcome, other);
				if
				:: other != outcome && MISTAKE == LOSER_STOPS -> goto over
				:: other != outcome && MISTAKE == OWN_OUTCOME && IS_RUN(other)
				:: else -> outcome = other
				fi
			};
			MAY_DIE
		:: else
		fi;
		if
		:: IS_RUN(outcome) ->
			atomic { send(B_OF(e, 0, 0), outcome); printf("@ %d send\n", _pid) };
			MAY_DIE;
			atomic { send(B_OF(e, 0, 1), outcome); printf("@ %d send\n", _pid) };
			MAY_DIE
		:: else
		fi

	   :: event == B_OF(e, g, 0) || event == B_OF(e, g, 1) ->
		atomic { outcome = BRANCH(e, g, i); other = TOP(e, END_OF(e, g)); printf("@ %d look\n", _pid) };
		MAY_DIE;
		if
		:: outcome == NOTHING && other != NOTHING -> goto over
		:: outcome == NOTHING && other == NOTHING ->
			assert(input == TOP(e, 1));
			assert(g == 0 || !(kept & (1 << i)));
			if
			:: failures > 0 -> failures--; outcome = FAILED; printf("@ %d fails\n", _pid)
			:: true -> outcome = input
			fi;
			if
			:: MISTAKE == COMPLETE_FIRST && outcome != FAILED ->
				atomic { add(e, g, i, is_full); printf("@ %d add\n", _pid) };
				MAY_DIE;
				if
				:: is_full -> send(C_OF(e, g), 1); printf("@ %d send\n", _pid); MAY_DIE
				:: else
				fi
			:: else
			fi;
			atomic {
				if
				:: BRANCH(e, g, i) == NOTHING -> BRANCH(e, g, i) = outcome
				:: else
				fi;
				printf("@ %d create\n", _pid);
				outcome = BRANCH(e, g, i)
			};
			MAY_DIE
		:: else
		fi;
		if
		:: outcome == FAILED ->
			atomic { printf("@ %d create\n", _pid); create(e, END_OF(e, g), FAILED, other) }
		:: outcome != FAILED && MISTAKE != COMPLETE_FIRST ->
			atomic { add(e, g, i, is_full); printf("@ %d add\n", _pid) };
			MAY_DIE;
			if
			:: is_full -> atomic { send(C_OF(e, g), 1); printf("@ %d send\n", _pid) }; MAY_DIE
			:: else
			fi
		:: else
		fi

	   :: else ->
		atomic { other = TOP(e, END_OF(e, g)); printf("@ %d look\n", _pid) };
		MAY_DIE;
		if
		:: other == NOTHING ->
			atomic {
				assert(BRANCH(e, g, 0) == TOP(e, 1) && BRANCH(e, g, 1) == TOP(e, 1));
				printf("@ %d read\n", _pid)
			};
			MAY_DIE;
			atomic { printf("@ %d create\n", _pid); create(e, END_OF(e, g), JOINED, other) };
			MAY_DIE
		:: else
		fi
	   fi;
over:	   atomic {
		working--;
		if
		:: died && !is_copy -> waiting[event] = waiting[event] | input
		:: else -> printf("@ %d ends\n", _pid)
		fi;
		event = 0; input = 0; e = 0; g = 0; i = 0; outcome = 0; other = 0; at = 0;
		is_copy = false; died = false; is_full = false
	   }
	od
}

inline last_step(e, at) {
	at = 0;
	do
	:: at < 4 && TOP(e, at + 1) != NOTHING -> at++
	:: else -> break
	od
}

/* Copy what the fork keeps, and enter its own scope. */
inline finish_fork() {
	if
	:: TOP(1, 2) == NOTHING ->
		atomic { printf("@ %d create\n", _pid); create(1, 1, TOP(0, 1), other); assert(other == TOP(0, 1)) };
		MAY_DIE;
		atomic { printf("@ %d create\n", _pid); create(1, 2, ENTERED, other) };
		MAY_DIE
	:: else
	fi
}

/* Send again what the execution waits for: what was read at one time, additions to the set before events. */
inline nudge(e) {
	atomic {
		last_step(e, at);
		g = (e == 0 && at > 2 -> 1 : 0);
		if
		:: at == 0 || IS_END(TOP(e, at)) -> ended = 0; lacks = 0; i = 0
		:: else ->
			ended = IS_RUN(BRANCH(e, g, 0)) + 2 * IS_RUN(BRANCH(e, g, 1));
			lacks = (BRANCH(e, g, 0) == NOTHING) + 2 * (BRANCH(e, g, 1) == NOTHING);
			i = ALL - ended - lacks
		fi;
		printf("@ %d look\n", _pid)
	};
	MAY_DIE;
	if
	:: at == 0 && record[e] == STARTED -> atomic { send(A_OF(e), 1); printf("@ %d send\n", _pid) }
	:: else
	fi;
	if
	:: ended && MISTAKE != NUDGE_ADDS_NOTHING ->
		atomic {
			completed[SCOPE(e, g)] = completed[SCOPE(e, g)] | ended;
			is_full = completed[SCOPE(e, g)] == ALL;
			printf("@ %d add\n", _pid)
		};
		MAY_DIE
	:: else
	fi;
	if
	:: lacks & 1 -> atomic { send(B_OF(e, g, 0), TOP(e, 1)); printf("@ %d send\n", _pid) }; MAY_DIE
	:: else
	fi;
	if
	:: lacks & 2 -> atomic { send(B_OF(e, g, 1), TOP(e, 1)); printf("@ %d send\n", _pid) }; MAY_DIE
	:: else
	fi;
	if
	:: is_full -> atomic { send(C_OF(e, g), 1); printf("@ %d send\n", _pid) }; MAY_DIE
	:: else
	fi;
	if
	:: i -> atomic { printf("@ %d create\n", _pid); create(e, END_OF(e, g), FAILED, other) }
	:: else
	fi
}

#ifdef SWEEP
proctype Sweep(byte e) {
	byte g, i, other, at, ended, lacks;
	bool is_full, died;
end:	do
	:: record[e] != NOTHING && IS_SILENT(e) && ((e == 0 && !ENDED_0) || (e == 1 && !ENDED_1)) ->
		printf("@ %d nudge %d\n", _pid, e);
		if
		:: e == 1 && record[1] == FORKING -> finish_fork()
		:: else
		fi;
		nudge(e);
over:		printf("@ %d ends\n", _pid);
		atomic { g = 0; i = 0; other = 0; at = 0; ended = 0; lacks = 0; is_full = false; died = false }
	od
}
#endif

#ifdef STOP
active proctype Stop() {
	byte at, other, step;
	atomic { record[0] != NOTHING; printf("@ %d stop 0\n", _pid) };
	do
	:: atomic { last_step(0, at); printf("@ %d look\n", _pid) };
		if
		:: at > 0 && IS_END(TOP(0, at)) -> break
		:: else
		fi;
		step = at + 1 + (MISTAKE == STOP_BESIDE);
		atomic { printf("@ %d create\n", _pid); create(0, step, STOPPED, other) };
		if
		:: other == STOPPED -> break
		:: else
		fi
	od
}
#endif

#ifdef REDRIVE
active proctype Redrive() {
	byte g, i, other, at, ended, lacks;
	bool is_full, died;
	atomic {
		TOP(0, 2) == FAILED || TOP(0, 2) == STOPPED;
		working++;
		kept = IS_RUN(BRANCH(0, 0, 0)) + 2 * IS_RUN(BRANCH(0, 0, 1));
		printf("@ %d redrive 0\n@ %d look\n", _pid, _pid)
	};
	if
	:: MISTAKE == OPENS_FIRST -> atomic { printf("@ %d create\n", _pid); create(0, 3, ENTERED, other) }; MAY_DIE
	:: else
	fi;
	i = 0;
	do
	:: i < 2 ->
		atomic {
			if
			:: kept & (1 << i) ->
				printf("@ %d create\n", _pid);
				if
				:: BRANCH(0, 1, i) == NOTHING -> BRANCH(0, 1, i) = BRANCH(0, 0, i)
				:: else
				fi
			:: else
			fi
		};
		i++;
		MAY_DIE
	:: else -> break
	od;
	atomic {
		create(0, 3, ENTERED, other);
		i = 0;
		if
		:: MISTAKE != OPENS_FIRST -> printf("@ %d create\n", _pid)
		:: else
		fi
	};
	MAY_DIE;
	nudge(0);
over:	atomic { working--; printf("@ %d ends\n", _pid) }
}
#endif

#ifdef FORK
active proctype Fork() {
	byte g, i, other, at, ended, lacks;
	bool is_full, died;
	/* After the origin's end, for the origin only gives what it has committed. */
	atomic {
		ENDED_0 && IS_RUN(TOP(0, 1));
		working++;
		record[1] = (MISTAKE == FORK_IS_A_START -> STARTED : FORKING);
		printf("@ %d fork 1\n@ %d look\n", _pid, _pid)
	};
	MAY_DIE;
	finish_fork();
	nudge(1);
over:	atomic { working--; printf("@ %d ends\n", _pid) }
}
#endif

init {
	atomic {
		record[0] = STARTED;
		send(A_OF(0), 1);
#ifdef SWEEP
		run Sweep(0);
#ifdef FORK
		run Sweep(1)
#endif
#endif
	}
}

/* Time passes, also when nothing else can happen: a run that stands still is infinite, and so judged. */
active proctype Clock() {
	bool tick;
	do
	:: tick = !tick
	od
}
