import DequeModule
package import RepriseCore

/// Decides which entries of the journal count, by what stands before them alone: every gateway
/// decides the same.
///
/// An entry counts if its session was opened by an entry, it is the session's next, and its writer
/// had applied the same journal shortly before. So an entry that comes twice, late or out of its
/// turn changes nothing, and its writer sends what is missing again.
///
/// ```swift
/// let admission = try machine.admit(stored)
/// guard case .accepted = admission.disposition else { return }
/// apply(admission.entry?.commands, at: admission.time)
/// ```
package struct AdmissionMachine: Sendable {
    package struct Admission: Sendable {
        /// Nil for what is no entry.
        package let entry: ClusterEntry?
        package let disposition: Disposition
        /// The journal's time at this entry: it never goes back.
        package let time: WallTime
        /// Of an entry that is skipped: the number of its commands, each of which is refused.
        package var skipped: Int?
    }

    package enum Disposition: Hashable, Sendable {
        case accepted
        /// It opens a session, whose id is its sequence.
        case opened(nonce: Int64)
        case ignored(Reason)
    }

    package enum Reason: Hashable, Sendable {
        /// The session's entry with this number was accepted before.
        case duplicate
        /// One before it is missing.
        case early
        /// Its session was never opened, or is forgotten.
        case unknownSession
        /// Its base is too old.
        case stale
        /// Its base is of another journal.
        case otherPast
        /// No version writes such bytes: somebody else published them.
        case noEntry
    }

    /// An entry that cannot be decided about: nothing is applied behind it.
    package enum Fault: Error, Hashable, Sendable {
        /// The journal does not hold what this gateway has applied, or its writer had applied
        /// another journal. ``AdmissionMachine/admit(_:isVerified:)`` goes on once this gateway has
        /// compared its own past with the journal.
        case otherPast(sequence: Int64, base: Int64)
        /// A later version wrote it: this one waits before it, to be upgraded.
        case unreadable(sequence: Int64, RepriseError)
        /// Applying it fails, and not by the disk: no gateway applies it until an operator has it
        /// skipped.
        case poisonous(sequence: Int64, RepriseError)
    }

    /// What the journal is to a gateway that has applied some of it.
    package enum Order: Hashable, Sendable {
        case next
        /// It is applied already.
        case applied
        /// Entries between are missing.
        case ahead
        /// Another entry with its number is applied: the journal has gone back.
        case changed
    }

    /// A session, as far as it has come.
    package struct Session: Hashable, Sendable {
        /// The number that its next entry has.
        package var next: Int64
        /// The time of its last entry.
        package var time: WallTime

        package init(next: Int64, time: WallTime) { (self.next, self.time) = (next, time) }
    }

    /// What is remembered of an applied entry.
    package struct Recent: Hashable, Sendable {
        package var digest: JournalDigest
        package var time: WallTime

        package init(digest: JournalDigest, time: WallTime) {
            (self.digest, self.time) = (digest, time)
        }
    }

    /// The newest ``ClusterRules`` that this gateway knows.
    package var newestRules = ClusterRules.newest
    /// The last applied entry.
    package private(set) var position: JournalPosition
    /// The journal's time.
    package private(set) var time: WallTime
    /// Whether time stands still: the journal's clock is far ahead of its writers', or far behind
    /// what it was.
    package private(set) var isTimeHeld = false
    package private(set) var sessions: [Int64: Session]
    /// The newest entries, up to ``position``.
    private var recent: Deque<Recent>

    /// Goes on where another one stood.
    ///
    /// `recent` are the last applied entries, in order, of which the last is at `position`; at most
    /// ``ClusterLimits/recentEntries`` are kept.
    package init(
        position: JournalPosition = .start, time: WallTime = WallTime(milliseconds: 0),
        sessions: [Int64: Session] = [:], recent: [Recent] = []
    ) {
        self.position = position
        self.time = time
        self.sessions = sessions
        self.recent = Deque(recent.suffix(ClusterLimits.recentEntries))
    }

    /// Compares an entry with what is applied.
    ///
    /// - Returns: of an entry older than ``ClusterLimits/recentEntries``, `.applied`.
    package func order(of stored: StoredEntry) -> Order {
        if stored.sequence == position.sequence + 1 { return .next }
        if stored.sequence > position.sequence { return .ahead }
        let before = digest(at: stored.sequence - 1)
        guard let before, let known = digest(at: stored.sequence) else { return .applied }
        return before.appending(stored) == known ? .applied : .changed
    }

    /// Decides about the next entry.
    ///
    /// - Parameters:
    ///   - stored: the next: see ``order(of:)``.
    ///   - isVerified: whether this gateway's own past was compared with the journal: then an entry
    ///     of another past is its writer's fault, and is ignored.
    ///   - isSkipped: whether an operator has it skipped: then its commands are not even read.
    /// - Returns: whether it counts, and at what time.
    /// - Throws: ``Fault``; then nothing has changed.
    package mutating func admit(
        _ stored: StoredEntry, isVerified: Bool = false, isSkipped: Bool = false
    ) throws(Fault) -> Admission {
        precondition(stored.sequence == position.sequence + 1, "driver bug: not the next entry")
        let read = isSkipped ? try? ClusterEntry(headOf: stored.bytes) : try read(stored)
        guard let entry = read else {
            take(stored, time)
            return Admission(entry: nil, disposition: .ignored(.noEntry), time: time)
        }
        let isOfThisPast = self.isOfThisPast(entry.base)
        guard isOfThisPast || isVerified else {
            throw .otherPast(sequence: stored.sequence, base: entry.base.sequence)
        }
        let now = advanced(to: stored.stamp, by: entry.clock)
        let disposition = isOfThisPast ? decide(entry, stored.sequence, now) : .ignored(.otherPast)
        take(stored, now)
        return Admission(
            entry: entry, disposition: disposition, time: now,
            skipped: isSkipped ? ClusterEntry.commandCount(stored.bytes) : nil)
    }

    /// Nil for what is no entry; of one that does not count perhaps the head alone.
    private func read(_ stored: StoredEntry) throws(Fault) -> ClusterEntry? {
        do {
            let entry = try ClusterEntry(stored.bytes)
            for case .rules(let raised) in entry.commands where raised.version > newestRules {
                throw ClusterEntry.unknown("rules \(raised.version)")
            }
            return entry
        } catch {
            guard let error = error as? RepriseError, error.code == .unknownKind,
                let head = try? ClusterEntry(headOf: stored.bytes)
            else { return nil }
            // What would not count in any version need not be read: see `decide`.
            guard !mayCount(head) else {
                throw .unreadable(sequence: stored.sequence, error)
            }
            return head
        }
    }

    private func isOfThisPast(_ base: JournalPosition) -> Bool {
        if base.sequence > position.sequence { return false }
        guard let digest = digest(at: base.sequence) else { return true }
        return digest == base.digest
    }

    /// The first sequence whose ``digest(at:)`` is known, as are all behind it up to ``position``.
    package var remembered: Int64 {
        let forgotten = position.sequence - Int64(recent.count)
        return forgotten > 0 ? forgotten + 1 : 0
    }

    /// The digest up to an entry; nil if it is forgotten.
    package func digest(at sequence: Int64) -> JournalDigest? {
        if sequence == 0 { return .zero }
        return recent(at: sequence)?.digest
    }

    private func recent(at sequence: Int64) -> Recent? {
        let index = recent.count - 1 - Int(position.sequence - sequence)
        return recent.indices.contains(index) ? recent[index] : nil
    }

    // MARK: Time

    /// The journal's time goes with the clock of its leader, but not back, and far forward only if
    /// the writer's clock says so too: one wrong clock does not move it.
    private mutating func advanced(to stamp: WallTime, by clock: WallTime) -> WallTime {
        let isFar = position.sequence > 0 && stamp > time.advanced(by: ClusterLimits.timeStep)
        let difference = ClusterLimits.clockDifference
        let isConfirmed =
            clock >= stamp.advanced(by: .zero - difference)
            && clock <= stamp.advanced(by: difference)
        let isUnconfirmed = isFar && !isConfirmed
        isTimeHeld = isUnconfirmed || stamp < time.advanced(by: .zero - ClusterLimits.timeStep)
        return isUnconfirmed ? time : max(time, stamp)
    }

    // MARK: Sessions

    private mutating func decide(
        _ entry: ClusterEntry, _ sequence: Int64, _ now: WallTime
    ) -> Disposition {
        guard isFresh(entry.base, for: sequence, now) else { return .ignored(.stale) }
        if entry.session == 0, case .session(let nonce, _)? = entry.commands.first {
            open(sequence, now)
            return .opened(nonce: nonce)
        }
        guard let session = sessions[entry.session] else { return .ignored(.unknownSession) }
        if entry.n < session.next { return .ignored(.duplicate) }
        if entry.n > session.next { return .ignored(.early) }
        sessions[entry.session] = Session(next: entry.n + 1, time: now)
        return .accepted
    }

    private func isFresh(_ base: JournalPosition, for sequence: Int64, _ now: WallTime) -> Bool {
        guard base.sequence >= sequence - ClusterLimits.baseEntries else { return false }
        // Before the first entry nothing has a time.
        guard let then = recent(at: base.sequence)?.time else { return base.sequence == 0 }
        return then.advanced(by: ClusterLimits.baseAge) >= now
    }

    /// Whether an entry is its session's next, or may open one.
    private func mayCount(_ entry: ClusterEntry) -> Bool {
        entry.session == 0 || sessions[entry.session].map { entry.n == $0.next } ?? false
    }

    private mutating func open(_ sequence: Int64, _ now: WallTime) {
        let oldest = now.advanced(by: .zero - ClusterLimits.sessionLife)
        sessions = sessions.filter { $0.value.time >= oldest }
        if sessions.count >= ClusterLimits.sessions {
            let first = sessions.min { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
            if let first { sessions[first.key] = nil }
        }
        sessions[sequence] = Session(next: 1, time: now)
    }

    private mutating func take(_ stored: StoredEntry, _ now: WallTime) {
        let digest = position.digest.appending(stored)
        position = JournalPosition(sequence: stored.sequence, digest: digest)
        time = now
        recent.append(Recent(digest: digest, time: now))
        if recent.count > ClusterLimits.recentEntries { recent.removeFirst() }
    }
}
