import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The bodies to publish, one by one: from the command line, a file or standard input.
struct MessageSource: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    enum Origin: Sendable {
        case texts([String])
        case lines(InputLineReader)
    }

    let origin: Origin
    /// Whether lines are JSON.
    let isJSON: Bool
    /// The users whom each message mentions.
    var mentions: [UserID] = []

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var texts: [String] = []
        fileprivate var reader: InputLineReader?
        fileprivate let isJSON: Bool
        fileprivate let mentions: [UserID]
        private var taken = 0

        fileprivate init(isJSON: Bool, mentions: [UserID]) {
            (self.isJSON, self.mentions) = (isJSON, mentions)
        }

        mutating func next() async throws -> [UInt8]? {
            guard let reader else { return try nextText() }
            while let line = try await reader.next() {
                // An empty line of text is an empty message; between JSON values it is ignored (as
                // in NDJSON).
                if isJSON, line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
                return try body(line, place: "Line \(reader.lineNumber)")
            }
            return nil
        }

        private mutating func nextText() throws -> [UInt8]? {
            guard taken < texts.count else { return nil }
            taken += 1
            let place = texts.count == 1 ? "The message" : "Message \(taken)"
            return try body(Array(texts[taken - 1].utf8), place: place)
        }

        private func body(_ line: [UInt8], place: String) throws -> [UInt8] {
            let body =
                isJSON
                ? try MessageBody.json(line, place: place)
                : try MessageBody.text(line, place: place)
            guard !mentions.isEmpty else { return body }
            do {
                let object = isJSON ? body : Array(#"{"text":"#.utf8) + body + [UInt8(ascii: "}")]
                return try MessageBody.json(Mentions.add(mentions, to: object), place: place)
            } catch let error as RepriseError {
                throw CommandFailure(.badInput, "\(place): \(error.message)")
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        var iterator = AsyncIterator(isJSON: isJSON, mentions: mentions)
        switch origin {
        case .texts(let texts): iterator.texts = texts
        case .lines(let reader): iterator.reader = reader
        }
        return iterator
    }
}
