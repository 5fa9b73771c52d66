import DequeModule

/// Decides about one direction of a connection: which bytes may be written when, and which fault
/// happens behind which byte.
///
/// Pure: takes bytes and the time, returns actions. `open → ending → finished`; a stalled stream
/// never ends.
struct FaultyStream {
    /// An action of the connection beyond this direction.
    enum Action: Equatable {
        case met(FaultProxy.Report.Met)
        case stallOther
        case finishBoth
        case resetBoth
    }

    /// The most bytes kept; beyond it the sender has to wait.
    static let bound = 65_536
    /// How many bytes a `split` lasts.
    static let splitBytes = 1_024

    private struct Chunk {
        var bytes: ArraySlice<UInt8>
        let due: Duration
    }

    /// How many bytes have been received.
    private(set) var received = 0
    /// How many bytes wait to be written.
    private(set) var waiting = 0
    /// Whether nothing is forwarded any more, and no end either.
    private(set) var isStalled = false
    /// Whether the source has ended.
    private(set) var isSourceEnded = false
    /// Whether the destination is to see a reset instead of an end.
    private(set) var endsWithReset = false
    /// Whether the destination has been told of the end, or cannot be told.
    private(set) var isFinished = false
    /// Held manually.
    var isHeld = false
    private var heldUntil: Duration = .zero
    private var isEnding = false
    private var isSwallowing = false
    private var faults: [FaultProxy.Fault]
    private var chunks: Deque<Chunk> = []
    private var delay: Duration = .zero
    private var bytesPerSecond: Int?
    private var piece: (bytes: Int, left: Int)?
    private var losing = 0
    /// Nothing is written before, because of the throttle.
    private var earliest: Duration = .zero

    init(_ faults: [FaultProxy.Fault] = []) {
        self.faults = faults.enumerated().sorted {
            ($0.element.afterBytes, $0.offset) < ($1.element.afterBytes, $1.offset)
        }.map(\.element)
    }

    /// Whether bytes of the source are wanted.
    var isReading: Bool {
        !isSourceEnded && !isStalled && (isSwallowing || waiting < Self.bound)
    }

    /// Whether everything before the end has been written.
    var mayFinish: Bool { isEnding && !isFinished && waiting == 0 && !isStalled }

    /// Whether this direction is finished.
    var isOver: Bool { isFinished && isSourceEnded }

    // MARK: Input

    mutating func bytesReceived(_ bytes: ArraySlice<UInt8>, at now: Duration) -> [Action] {
        guard !isSwallowing, !isStalled, !isEnding else { return [] }
        var rest = bytes
        var actions: [Action] = []
        while let fault = faults.first, received + rest.count > fault.afterBytes {
            keep(&rest, max(0, fault.afterBytes - received), at: now)
            faults.removeFirst()
            actions += strike(fault.kind, &rest, at: now)
            if isStalled || isEnding { return actions }
        }
        keep(&rest, rest.count, at: now)
        return actions
    }

    /// The source has ended.
    mutating func sourceEnded(byReset: Bool) {
        isSourceEnded = true
        endsWithReset = endsWithReset || byReset
        if !isStalled { isEnding = true }
    }

    private mutating func keep(_ rest: inout ArraySlice<UInt8>, _ count: Int, at now: Duration) {
        received += count
        var bytes = rest.prefix(count)
        rest = rest.dropFirst(count)
        if losing > 0 {
            let lost = min(losing, bytes.count)
            losing -= lost
            bytes = bytes.dropFirst(lost)
        }
        guard !bytes.isEmpty else { return }
        waiting += bytes.count
        chunks.append(Chunk(bytes: bytes, due: now + delay))
    }

    private mutating func strike(
        _ kind: FaultProxy.Fault.Kind, _ rest: inout ArraySlice<UInt8>, at now: Duration
    ) -> [Action] {
        switch kind {
        case .delay(let delay): return set(delay: delay)
        case .throttle(let bytesPerSecond): return set(bytesPerSecond: bytesPerSecond)
        case .split(let bytes):
            piece = (max(1, bytes), Self.splitBytes)
            return [.met(.split)]
        case .hold(let duration):
            heldUntil = max(heldUntil, now + duration)
            return [.met(.held)]
        case .lose(let bytes): return lose(bytes)
        case .halfOpen(let both):
            guard !isStalled else { return [] }
            isStalled = true  // what came before its place still goes
            return [.met(.halfOpened)] + (both ? [.stallOther] : [])
        case .truncate:
            finish()
            return [.met(.truncated), .finishBoth]
        case .finish:
            keep(&rest, rest.count, at: now)
            finish()
            return [.met(.finished), .finishBoth]
        case .reset: return [.resetBoth]
        }
    }

    // MARK: Faults, also manual

    mutating func set(delay: Duration) -> [Action] {
        self.delay = max(delay, .zero)
        return delay > .zero ? [.met(.delayed)] : []
    }

    mutating func set(bytesPerSecond: Int?) -> [Action] {
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
        return bytesPerSecond == nil ? [] : [.met(.throttled)]
    }

    mutating func lose(_ bytes: Int) -> [Action] {
        losing += max(0, bytes)
        return [.met(.lost)]
    }

    /// Nothing is forwarded any more; waiting bytes are lost.
    mutating func stall() {
        isStalled = true
        drop()
    }

    /// Ends behind the waiting bytes; later bytes are read and dropped, because closing a socket
    /// with unread bytes would send RST and discard the written ones.
    mutating func finish() {
        isEnding = true
        isSwallowing = true
    }

    /// The destination accepts nothing any more.
    mutating func abandon() {
        finish()
        isFinished = true
        drop()
    }

    mutating func finished() { isFinished = true }

    /// Removes all faults but the irreversible ones.
    mutating func heal() {
        faults = []
        delay = .zero
        bytesPerSecond = nil
        piece = nil
        losing = 0
        isHeld = false
        heldUntil = .zero
        earliest = .zero
    }

    private mutating func drop() {
        chunks = []
        waiting = 0
    }

    // MARK: Output

    /// When bytes may be written; nil if none wait, or only for a manual release.
    var due: Duration? {
        guard waiting > 0, !isHeld else { return nil }
        return max(chunks[0].due, earliest, heldUntil)
    }

    /// The bytes that may be written now.
    func ready(at now: Duration) -> ArraySlice<UInt8>? {
        guard let due, due <= now else { return nil }
        var most = chunks[0].bytes.count
        if let piece { most = min(most, piece.bytes) }
        if let bytesPerSecond { most = min(most, max(1, bytesPerSecond / 50)) }
        return chunks[0].bytes.prefix(most)
    }

    /// So many of the ready bytes have been written.
    mutating func written(_ count: Int, at now: Duration) {
        waiting -= count
        chunks[0].bytes = chunks[0].bytes.dropFirst(count)
        if chunks[0].bytes.isEmpty { chunks.removeFirst() }
        if let bytesPerSecond {
            earliest = max(earliest, now) + .microseconds(count * 1_000_000 / bytesPerSecond)
        }
        if let piece {
            let left = piece.left - count
            self.piece = left > 0 ? (piece.bytes, left) : nil
            earliest = max(earliest, now + .milliseconds(1))
        }
    }
}
