package import RepriseCore

/// Decides the next step of a reader with an effect outside of the journal.
///
/// One step after the other, as in a straight loop (due messages, a page, its messages), with one
/// concurrent write. A message is delivered only once the disk says that it may be in flight
/// (`handing`); the cursor follows behind the handler. Messages between the two are in doubt when
/// the process dies.
///
/// In order, nothing is delivered while an earlier message waits for a retry: ``isHeldUp``.
///
/// The driver takes the ``next(at:wall:)`` step, performs it, reports the result, and asks again.
/// Only ``Step/write(_:)`` runs concurrently.
package struct AtLeastOnceReaderMachine: Sendable {
    package enum Step: Sendable {
        /// Read the due messages; answered by `dueLoaded`.
        case loadDue(at: WallTime)
        /// Read the messages after this position; answered by `pageLoaded`.
        case loadPage(after: Int64)
        /// Pass it to the handler, but first ask whether it is applied if it was delivered before;
        /// answered by `handled`.
        case dispatch(Arrived)
        /// Begin to write; answered by `written`, at any time.
        case write(ReaderWrite)
        /// Wait for the current write.
        case awaitWrite
        /// Store that this exceptional message is with its handler; answered by `marked`.
        case mark(arrival: Int64)
        /// Store its result; answered by `settled`.
        case settle(ReaderWrite.Acknowledgement)
        /// Wait until the channel has something new, or until this moment; answered by `woke`.
        case wait(until: WallTime?)
        /// It was told to stop, and no message is in doubt.
        case finish
    }

    private enum Phase: Sendable {
        case looking
        case working
        /// The handler has an exceptional message: at most one, so that a message that kills the
        /// process cannot drag others along.
        case marking(ReaderStore.Exceptional)
        case marked(ReaderStore.Exceptional)
        case retrying(ReaderStore.Exceptional)
        case settling(ReaderWrite.Acknowledgement)
        case resting
    }

    private let options: ReaderOptions
    private var phase = Phase.looking
    private var isStopping = false
    /// Everything up to here is finished, or in `failures`; memory only.
    private var done: Int64
    /// The cursor on the disk.
    package private(set) var cursor: Int64
    private var dispatching: Int64
    private var failures: [ReaderWrite.Acknowledgement] = []
    private var writing: ReaderWrite?
    private var unwritten = 0
    private var lastWrite: Duration = .zero
    private var isWriteDue = false
    /// Whether a message has been handled since the last look at due messages: otherwise a message
    /// that always fails at once would hold up the page.
    private var looksAtDue = false
    private var page: [Arrived] = []
    private var index = 0
    private var due: ArraySlice<ReaderStore.Exceptional> = []
    private var nextDue: WallTime?

    /// A slow handler's progress is stored at least this often.
    private static let pause: Duration = .milliseconds(20)

    package init(options: ReaderOptions, cursor: Int64) {
        self.options = options
        self.cursor = cursor
        done = cursor
        dispatching = cursor
    }

    // MARK: Events

    package mutating func dueLoaded(
        _ messages: [ReaderStore.Exceptional], next: WallTime?, at now: WallTime
    ) {
        due = messages[...]
        nextDue = messages.count == ReaderStore.dueLimit ? now : next
        phase = .working
    }

    package mutating func pageLoaded(_ messages: [Arrived]) {
        page = messages
        index = 0
        phase = messages.isEmpty ? .resting : .working
    }

    /// The handler has ended; `error` is nil if it has succeeded, or the effect had taken place
    /// before.
    package mutating func handled(
        _ error: (any Error)?, at now: Duration, wall: @autoclosure () -> WallTime,
        jitter: @autoclosure () -> Double
    ) {
        switch phase {
        case .retrying(let exceptional):
            phase = .settling(
                exceptional.acknowledgement(
                    after: error.map {
                        Ending.after(
                            $0, options, failures: exceptional.failures, now: wall(),
                            jitter: jitter())
                    }))
        case .looking, .working, .marking, .marked, .settling, .resting:
            finishNext(
                error.map {
                    Ending.after($0, options, failures: 0, now: wall(), jitter: jitter())
                }, at: now)
        }
    }

    private mutating func finishNext(_ ending: Ending?, at now: Duration) {
        if let ending {
            failures.append(.init(arrival: page[index].arrival, first: ending))
            if options.order == .ordered { noteDue(ending) }
        }
        done = page[index].position
        index += 1
        unwritten += 1
        looksAtDue = true
        isWriteDue =
            writing == nil && (2 * unwritten >= options.window || now - lastWrite > Self.pause)
    }

    /// The started write is durable.
    package mutating func written() {
        guard let write = writing else { preconditionFailure("driver bug: nothing was written") }
        writing = nil
        cursor = write.cursor
        dispatching = write.dispatching
        for acknowledgement in write.acknowledgements { noteDue(acknowledgement.ending) }
    }

    /// The mark that the message is with its handler is durable.
    package mutating func marked() {
        guard case .marking(let exceptional) = phase else {
            preconditionFailure("driver bug: marked in \(phase)")
        }
        phase = .marked(exceptional)
    }

    /// The result of an exceptional message is durable.
    package mutating func settled() {
        guard case .settling(let acknowledgement) = phase else {
            preconditionFailure("driver bug: settled in \(phase)")
        }
        noteDue(acknowledgement.ending)
        // In order, the next waiting message, if any, comes before everything else.
        phase = options.order == .ordered ? .looking : .working
    }

    package mutating func woke() { phase = .looking }

    /// It runs: for the first time, or again after a run that has ended.
    ///
    /// - Returns: a write that the former run began and could not finish: begin it again.
    package mutating func started() -> ReaderWrite? {
        isStopping = false
        switch phase {
        // What came in between raised no signal for this run.
        case .looking, .working, .resting: phase = .looking
        case .marking, .marked, .retrying, .settling: break
        }
        return writing
    }

    /// Starts the end: nothing more is delivered, and finished work is stored.
    package mutating func stopRequested() { isStopping = true }

    private mutating func noteDue(_ ending: Ending?) {
        guard let ending, ending.state == .waiting else { return }
        nextDue = min(nextDue ?? ending.due, ending.due)
    }

    // MARK: Decision

    /// The next step.
    ///
    /// `wall` is read only for exceptional messages.
    package mutating func next(at now: Duration, wall: @autoclosure () -> WallTime) -> Step {
        switch phase {
        case .marking(let exceptional): return .mark(arrival: exceptional.arrived.arrival)
        case .marked(let exceptional):
            phase = .retrying(exceptional)
            guard let damage = exceptional.arrived.damage else {
                return .dispatch(exceptional.arrived)
            }
            let wall = wall()
            handled(DispatchFailure.permanent(damage.message), at: now, wall: wall, jitter: 0)
            return next(at: now, wall: wall)
        case .retrying(let exceptional): return .dispatch(exceptional.arrived)
        case .settling(let acknowledgement): return .settle(acknowledgement)
        case .looking, .working, .resting: break
        }
        if isStopping { return flush(at: now) ?? .finish }
        switch phase {
        case .resting:
            return flush(at: now) ?? .wait(until: nextDue)
        case .looking:
            return .loadDue(at: wall())
        case .working, .marking, .marked, .retrying, .settling:
            return work(at: now, wall: wall())
        }
    }

    private mutating func work(at now: Duration, wall: @autoclosure () -> WallTime) -> Step {
        if let exceptional = due.popFirst() {
            phase = .marking(exceptional)
            return .mark(arrival: exceptional.arrived.arrival)
        }
        guard !isHeldUp else {
            phase = .resting
            return flush(at: now) ?? .wait(until: nextDue)
        }
        while true {
            if isWriteDue { return begin(dispatching: windowEnd, at: now) }
            if looksAtDue, index == page.count || isSomethingDue(wall()) {
                looksAtDue = false
                phase = .looking
                return .loadDue(at: wall())
            }
            guard index < page.count else { return .loadPage(after: done) }
            let arrived = page[index]
            guard arrived.position <= dispatching else {
                return writing == nil ? begin(dispatching: windowEnd, at: now) : .awaitWrite
            }
            guard let damage = arrived.damage else { return .dispatch(arrived) }
            let failure = DispatchFailure.permanent(damage.message)
            handled(failure, at: now, wall: wall(), jitter: 0)
        }
    }

    /// Whether the reader stands at a message that waits for another attempt.
    private var isHeldUp: Bool { options.order == .ordered && nextDue != nil }

    private func isSomethingDue(_ now: @autoclosure () -> WallTime) -> Bool {
        nextDue.map { $0 <= now() } ?? false
    }

    /// Brings the disk to the state of memory, and releases the window: no delivery follows, so no
    /// message is in doubt.
    private mutating func flush(at now: Duration) -> Step? {
        page = []
        index = 0
        guard writing == nil else { return .awaitWrite }
        guard cursor < done || !failures.isEmpty || dispatching > done else { return nil }
        return begin(dispatching: done, at: now)
    }

    /// The last message of the page that may be in flight once everything up to `done` is stored.
    private var windowEnd: Int64 {
        guard index < page.count else { return done }
        return page[min(index + options.window, page.count) - 1].position
    }

    private mutating func begin(dispatching: Int64, at now: Duration) -> Step {
        let write = ReaderWrite(
            acknowledgements: failures, cursor: done, dispatching: max(dispatching, done))
        writing = write
        failures = []
        unwritten = 0
        lastWrite = now
        isWriteDue = false
        return .write(write)
    }
}
