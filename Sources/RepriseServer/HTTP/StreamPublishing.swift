import Hummingbird
import NIOCore
import RepriseCore
import RepriseWire

/// Stores the lines of an NDJSON body while they arrive.
///
/// One batch is stored while the next is read; nothing is read beyond that, so TCP slows down a
/// fast peer and memory stays constant for any body.
struct StreamPublishing {
    private typealias Outcome = Result<[AppendResult], RepriseError>

    private let publisher: HTTPPublisher
    private let committer: Committer
    private let check: @Sendable (Int) async throws -> HTTPPublisher
    private let limits: HTTPLimits
    private var answer = StreamAnswer()
    private var batch: [PublishedMessage.Reading] = []
    private var batchBytes = 0
    private var lineCount = 0
    private var storing: (batch: [PublishedMessage.Reading], task: Task<Outcome, Never>)?

    /// `check` is called before each commit with its number of lines.
    ///
    /// Refused lines count, because each has an answer. A stream may last minutes: `check` waits
    /// while the publisher exceeds its rate, and then returns it with its current rights, or throws
    /// once the right to publish is lost.
    init(
        _ publisher: HTTPPublisher, _ committer: Committer, _ limits: HTTPLimits,
        check: @escaping @Sendable (Int) async throws -> HTTPPublisher
    ) {
        self.publisher = publisher
        self.committer = committer
        self.limits = limits
        self.check = check
    }

    /// Reads and stores everything, and answers line by line.
    ///
    /// A body beyond its limits is cut: earlier lines are stored and answered, and one more line
    /// gives the reason. The server's end cancels the task and cuts it too; lines not yet being
    /// stored are refused.
    mutating func run(_ body: inout BodyReader) async -> StreamAnswer {
        var lines = BodyLineReader(limit: limits.messageBytes)
        do {
            while let piece = try await body.nextUnlessCancelled() {
                var found: [BodyLineReader.Line] = []
                lines.take(piece) { found.append($0) }
                try await add(found)
            }
            var last: [BodyLineReader.Line] = []
            lines.finish { last.append($0) }
            try await add(last)
        } catch {
            await storeBatch()
            await settle()
            answer.cut(HTTPFailure(Self.known(error)))
            return answer
        }
        await storeBatch()
        await settle()
        return answer
    }

    private static func known(_ error: any Error) -> RepriseError {
        if Task.isCancelled {
            return RepriseError(
                .closed, "The server is shutting down.",
                remedy: "Send what was not stored again, with the same ids.")
        }
        return error as? RepriseError ?? RepriseError(.unavailable, "Ask again.")
    }

    private mutating func add(_ lines: [BodyLineReader.Line]) async throws {
        for line in lines {
            guard lineCount < limits.streamLines else {
                throw RepriseError(
                    .tooLarge, "A request has at most \(limits.streamLines) lines.",
                    remedy: "Send the rest in another request.")
            }
            lineCount += 1
            batch.append(read(line))
            if batch.count >= limits.batchLines || batchBytes >= limits.batchBytes {
                await storeBatch()
            }
        }
    }

    private mutating func read(_ line: BodyLineReader.Line) -> PublishedMessage.Reading {
        switch line {
        case .text(let text):
            batchBytes += text.count
            return PublishedMessage.read(text, by: publisher)
        case .tooLong:
            let error = RepriseError(
                .tooLarge, "A line has at most \(limits.messageBytes) bytes.")
            return .refused(HTTPFailure(error), id: nil)
        }
    }

    /// Starts to store the batch after the previous one, which keeps the order.
    private mutating func storeBatch() async {
        await settle()
        guard !batch.isEmpty else { return }
        let messages = batch.compactMap { reading in
            if case .message(let message) = reading { message } else { nil }
        }
        let task = Task { [committer, limits, check, lines = batch.count] in
            do {
                let publisher = try await check(lines)
                return await Self.store(
                    publisher.allowing(messages), with: committer, for: limits.queueTime)
            } catch {
                return Outcome.failure(Self.known(error))
            }
        }
        storing = (batch, task)
        batch = []
        batchBytes = 0
    }

    /// Awaits the batch in flight and answers its lines.
    private mutating func settle() async {
        guard let (batch, task) = storing.take() else { return }
        var results: ArraySlice<AppendResult> = []
        var failure: HTTPFailure?
        let outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        switch outcome {
        case .success(let all): results = all[...]
        case .failure(let error): failure = HTTPFailure(error)
        }
        for reading in batch {
            switch reading {
            case .refused(let failure, let id): answer.refused(failure, id: id)
            case .message(let message):
                if let failure {
                    answer.refused(failure, id: message.id)
                } else if let result = results.popFirst() {
                    add(result, message.id)
                }
            }
        }
    }

    private mutating func add(_ result: AppendResult, _ id: EntryID) {
        switch result {
        case .stored(let event), .buried(_, let event):
            answer.stored(id, event.seq, isDuplicate: false)
        case .duplicate(let seq): answer.stored(id, seq, isDuplicate: true)
        case .refused(let code, let text): answer.refused(HTTPFailure(code, text), id: id)
        }
    }

    /// Stores a batch; while the queue is full it waits, because a stream's peer can be delayed.
    private static func store(
        _ messages: [NewMessage], with committer: Committer, for time: Duration
    ) async -> Outcome {
        let deadline = ContinuousClock.now + time
        while true {
            do {
                return .success(try await committer.commit(messages))
            } catch {
                let isFull = error.code == .full
                guard isFull, ContinuousClock.now < deadline, !Task.isCancelled else {
                    return .failure(error)
                }
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
