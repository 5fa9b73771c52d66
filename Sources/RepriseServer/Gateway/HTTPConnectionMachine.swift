package import NIOCore

/// Decides when an HTTP connection reads its next request, and when it ends.
///
/// `head → body → answering → head…`: one request at a time, and the next only after the answer was
/// sent, so that a peer that does not read costs the memory of one answer. `closing` drops input
/// after the last answer, so that a reset does not overtake it; `upgraded` leaves the rest to the
/// WebSocket handlers.
package struct HTTPConnectionMachine: Sendable {
    package struct Limits: Hashable, Sendable {
        /// The timeout of the first head, and of any other from its first byte on.
        package var head: TimeAmount
        /// The timeout of silence between two requests.
        package var idle: TimeAmount
        /// How far a body may be behind ``bodyBytesPerSecond``.
        package var bodyGrace: TimeAmount
        package var bodyBytesPerSecond: Int
        /// How long a peer may read none of its pending bytes.
        package var notReading: TimeAmount
        /// How long, and how many bytes, a peer may send after the last answer.
        package var lingering: TimeAmount
        package var discardedBytes: Int
        package var lingeringAtShutdown: TimeAmount

        package init(_ limits: ServerLimits) {
            head = TimeAmount(limits.handshake)
            idle = TimeAmount(limits.httpIdle)
            bodyGrace = TimeAmount(limits.bodyGrace)
            bodyBytesPerSecond = limits.bodyBytesPerSecond
            notReading = TimeAmount(limits.notReading)
            lingering = TimeAmount(limits.httpLingering)
            discardedBytes = limits.httpDiscardedBytes
            lingeringAtShutdown = TimeAmount(limits.closeHandshake)
        }
    }

    package enum Phase: Hashable, Sendable {
        /// Between two requests, or within a head.
        case head
        /// A body arrives; `remaining` is nil where it comes in chunks.
        case body(remaining: Int?)
        /// The request is complete; its answer is not, or is not sent.
        case answering
        /// The last answer is sent; this many more bytes are dropped.
        case closing(left: Int)
        case upgraded
    }

    package enum Action: Hashable, Sendable {
        /// The next request may be read.
        case readNext
        /// The route's body fails: it arrives too slowly.
        case failBody
        /// Close the output, and drop input.
        case endOutput
        case close
    }

    package private(set) var phase = Phase.head
    package private(set) var unsent = 0
    private let limits: Limits
    private var headDeadline: NIODeadline
    private var isFirst = true
    private var isWithinHead = false
    private var isAnswerBegun = false
    private var isAnswerEnded = false
    private var mustClose = false
    private var credit: TimeAmount
    private var readSince: NIODeadline?
    private var progress: NIODeadline
    private var buffered = 0
    private var lingering: TimeAmount
    private var closeDeadline: NIODeadline?

    package init(_ limits: Limits, now: NIODeadline) {
        self.limits = limits
        headDeadline = now + limits.head
        credit = limits.bodyGrace
        progress = now
        lingering = limits.lingering
    }

    // MARK: Input

    /// The most bytes that the parser may be given now.
    ///
    /// Only the parser finds the end of a chunked body; excess bytes are buffered, so the amount is
    /// small.
    package var feedable: Int {
        switch phase {
        case .head: .max
        case .body(let remaining): remaining ?? 4_096
        case .answering, .closing, .upgraded: 0
        }
    }

    /// Whether a request's parts may be processed: the previous answer is sent.
    package var takesParts: Bool {
        switch phase {
        case .head, .body: true
        case .answering, .closing, .upgraded: false
        }
    }

    /// Whether the socket may be read.
    package func mayRead(isHoldingBytes: Bool) -> Bool {
        switch phase {
        case .head, .body: !isHoldingBytes
        case .answering: false
        case .closing, .upgraded: true
        }
    }

    package mutating func readBegan(now: NIODeadline) {
        if case .body = phase { readSince = readSince ?? now }
    }

    package mutating func bytesReceived(_ count: Int, now: NIODeadline) -> Action? {
        switch phase {
        case .head: noteHeadBegan(now)
        case .body: payForBody(count, now)
        case .closing(let left):
            phase = .closing(left: left - count)
            return count > left ? .close : nil
        case .answering, .upgraded: break
        }
        return nil
    }

    private mutating func noteHeadBegan(_ now: NIODeadline) {
        guard !isWithinHead else { return }
        isWithinHead = true
        if !isFirst { headDeadline = now + limits.head }
    }

    /// Counts only the time in which the server waited for the peer.
    private mutating func payForBody(_ count: Int, _ now: NIODeadline) {
        guard let since = readSince else { return }
        readSince = nil
        let earned = Int64(count) * 1_000_000_000 / Int64(max(1, limits.bodyBytesPerSecond))
        credit = min(limits.bodyGrace, credit - (now - since) + .nanoseconds(earned))
    }

    package mutating func bytesFed(_ count: Int) {
        if case .body(let remaining?) = phase { phase = .body(remaining: remaining - count) }
    }

    /// The head of a request was parsed.
    ///
    /// - Parameters:
    ///   - bodyBytes: the length of its body; nil for chunks.
    ///   - isLast: whether the connection ends after the answer.
    package mutating func headRead(bodyBytes: Int?, isLast: Bool) {
        phase = .body(remaining: bodyBytes)
        isFirst = false
        isWithinHead = false
        isAnswerBegun = false
        isAnswerEnded = false
        credit = limits.bodyGrace
        readSince = nil
        if isLast { mustClose = true }
    }

    package mutating func requestEnded(now: NIODeadline) -> Action? {
        guard case .body = phase else { return nil }
        phase = .answering
        readSince = nil
        return settle(now)
    }

    /// The input cannot be parsed any further.
    package mutating func inputFailed() { mustClose = true }

    // MARK: Output

    /// Whether to send `100 Continue`.
    package var mayContinue: Bool {
        if case .body = phase { return !isAnswerBegun }
        return false
    }

    /// Whether a request waits for its answer, or for the rest of it.
    package var mayAnswer: Bool {
        switch phase {
        case .body, .answering: !isAnswerEnded
        case .head, .closing, .upgraded: false
        }
    }

    /// An answer begins.
    ///
    /// - Returns: whether the connection ends after it, as it does for an incomplete request: the
    ///   rest may never arrive.
    package mutating func answerBegan(isLast: Bool) -> Bool {
        isAnswerBegun = true
        if case .body = phase { mustClose = true }
        if isLast { mustClose = true }
        return mustClose
    }

    package mutating func answerEnded(now: NIODeadline) -> Action? {
        isAnswerEnded = true
        return settle(now)
    }

    package mutating func bytesWritten(_ count: Int, now: NIODeadline) {
        if unsent == 0 { progress = now }
        unsent += count
        buffered += count
    }

    package mutating func bytesSent(_ count: Int, now: NIODeadline) -> Action? {
        unsent -= count
        progress = now
        return settle(now)
    }

    private mutating func settle(_ now: NIODeadline) -> Action? {
        guard isAnswerEnded, unsent == 0 else { return nil }
        switch phase {
        case .answering where !mustClose:
            phase = .head
            isAnswerEnded = false
            headDeadline = now + limits.idle
            return .readNext
        case .body, .answering:
            phase = .closing(left: limits.discardedBytes)
            closeDeadline = now + lingering
            return .endOutput
        case .head, .closing, .upgraded: return nil
        }
    }

    package mutating func upgraded() { phase = .upgraded }

    // MARK: Closing

    /// The peer has closed its output, and the parser has received all of its input.
    package mutating func inputClosed() -> Action? {
        switch phase {
        case .head, .closing: return .close
        case .body, .answering:
            mustClose = true
            return nil
        case .upgraded: return nil
        }
    }

    /// The server is shutting down.
    package mutating func quiesced(now: NIODeadline) -> Action? {
        mustClose = true
        lingering = min(lingering, limits.lingeringAtShutdown)
        closeDeadline = closeDeadline.map { min($0, now + lingering) }
        return phase == .head ? .close : nil
    }

    /// The router will write nothing more.
    package mutating func routerEnded() -> Action? {
        switch phase {
        case .head: return .close
        case .body, .answering:
            mustClose = true
            return isAnswerEnded ? nil : .close
        case .closing, .upgraded: return nil
        }
    }

    // MARK: Time

    /// When to call ``ticked(buffered:now:)``.
    package func nextTick(now: NIODeadline) -> NIODeadline? {
        let phaseEnd: NIODeadline? =
            switch phase {
            case .head: headDeadline
            case .body: readSince.map { $0 + max(credit, .zero) }
            case .closing: closeDeadline
            case .answering, .upgraded: nil
            }
        guard unsent > 0, phase != .upgraded else { return phaseEnd }
        let look = min(progress + limits.notReading, now + limits.notReading / 4)
        return min(phaseEnd ?? look, look)
    }

    /// Checks the timers; a decrease of `waiting`, the bytes in the transport, is progress.
    package mutating func ticked(buffered waiting: Int, now: NIODeadline) -> Action? {
        if unsent > 0 {
            if waiting < buffered { progress = now }
            buffered = waiting
            if phase != .upgraded, now >= progress + limits.notReading { return .close }
        }
        switch phase {
        case .head: return now >= headDeadline ? .close : nil
        case .body: return bodyTicked(now)
        case .closing: return closeDeadline.map { now >= $0 } ?? true ? .close : nil
        case .answering, .upgraded: return nil
        }
    }

    private mutating func bodyTicked(_ now: NIODeadline) -> Action? {
        guard let since = readSince, now >= since + max(credit, .zero) else { return nil }
        readSince = nil
        mustClose = true
        return .failBody
    }
}

extension TimeAmount {
    fileprivate static func / (amount: TimeAmount, divisor: Int64) -> TimeAmount {
        .nanoseconds(amount.nanoseconds / divisor)
    }
}
