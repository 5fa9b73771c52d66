import Foundation
import RepriseCore
import RepriseServer

/// The bases of a cluster: a stream beside its journal, `RP_<cluster>_BASE`, with one message for
/// each piece.
struct NatsBases: BaseStore {
    let connection: NatsConnection
    let stream: JournalStream
    /// On as many servers as the journal.
    let replicas: Int

    /// How long a server may take for a piece.
    private static let timeout: Duration = .seconds(10)
    /// How often a piece is put or got before that fails.
    private static let attempts = 6
    private static let pause: Duration = .seconds(1)

    private struct Settings: Encodable {
        var name: String
        var subjects: [String]
        var retention = "limits"
        var storage = "file"
        var discard = "new"
        var replicas: Int
        var perSubject = 1
        var allowDirect = true

        enum CodingKeys: String, CodingKey {
            case name, subjects, retention, storage, discard
            case replicas = "num_replicas"
            case perSubject = "max_msgs_per_subject"
            case allowDirect = "allow_direct"
        }
    }

    private struct Found: Decodable {
        struct State: Decodable { var subjects: [String: Int]? }

        var state: State?
        var error: JournalStream.Failure?
    }

    /// What JetStream answers to a message, and to a purge.
    private struct Done: Decodable {
        var error: JournalStream.Failure?
    }

    func put(_ bytes: [UInt8], as name: BasePiece) async throws {
        try await again {
            do {
                try check(
                    try await connection.askAside(
                        stream.baseSubject(name), bytes: bytes, within: Self.timeout))
            } catch let error as RepriseError where error.code == .unavailable {
                // Nobody takes it: there may be no such stream.
                try await make()
                throw error
            }
        }
    }

    func get(_ name: BasePiece) async throws -> [UInt8]? {
        try await again {
            let answer = try await connection.askAside(
                "$JS.API.DIRECT.GET.\(stream.baseName)",
                ["last_by_subj": stream.baseSubject(name)], within: Self.timeout)
            guard answer.status == nil else {
                // Who answers may be behind the others.
                throw RepriseError(.unavailable, "A piece of the journal's base is not there.")
            }
            return answer.bytes
        }
    }

    func marks(complete: Bool) async throws -> [Int64] {
        try await again {
            let answer = try await connection.askAside(
                "$JS.API.STREAM.INFO.\(stream.baseName)",
                ["subjects_filter": stream.baseMarks(complete: complete)], within: Self.timeout)
            guard let found = try? JSONDecoder().decode(Found.self, from: Data(answer.bytes))
            else { throw RepriseError(.unavailable, "JetStream's answer cannot be read.") }
            if let error = found.error {
                if error.number == JournalStream.Failure.noSuchStream { return [] }
                throw RepriseError(.unavailable, "JetStream has no bases: \(error.text).")
            }
            return (found.state?.subjects ?? [:]).keys
                .compactMap { $0.split(separator: ".").dropLast().last.flatMap { Int64($0) } }
                .sorted()
        }
    }

    func removePieces(at mark: Int64) async throws {
        try await again {
            try check(
                try await connection.askAside(
                    "$JS.API.STREAM.PURGE.\(stream.baseName)",
                    ["filter": stream.baseSubjects(at: mark)],
                    within: Self.timeout))
        }
    }

    func removeEntries(through sequence: Int64) async throws {
        try await again {
            try check(
                try await connection.askAside(
                    "$JS.API.STREAM.PURGE.\(stream.name)", ["seq": sequence + 1],
                    within: Self.timeout))
        }
    }

    private func exists() async throws -> Bool {
        let answer = try await connection.askAside(
            "$JS.API.STREAM.INFO.\(stream.baseName)", [String: String](), within: Self.timeout)
        let info = try JSONDecoder().decode(
            JournalStream.Answer.self, from: Data(answer.bytes))
        return info.error?.number != JournalStream.Failure.noSuchStream
    }

    private func make() async throws {
        guard try await !exists() else { return }
        let answer = try await connection.askAside(
            "$JS.API.STREAM.CREATE.\(stream.baseName)",
            Settings(
                name: stream.baseName, subjects: [stream.baseSubjects()], replicas: replicas),
            within: Self.timeout)
        try check(answer, except: JournalStream.Failure.exists)
    }

    private func check(_ answer: NatsMessage, except: Int? = nil) throws {
        guard let done = try? JSONDecoder().decode(Done.self, from: Data(answer.bytes)) else {
            throw RepriseError(.unavailable, "JetStream's answer cannot be read.")
        }
        guard let error = done.error, error.number != except else { return }
        throw RepriseError(
            .unavailable, "JetStream does not keep the base: \(error.text).",
            remedy: "It needs space for a copy of the view, and the right to \(stream.baseName).")
    }

    /// Tries again while nobody answers.
    private func again<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        var attempt = 1
        while true {
            do {
                return try await body()
            } catch let error as RepriseError where error.code == .unavailable {
                guard attempt < Self.attempts else { throw error }
                attempt += 1
                try await Task.sleep(for: Self.pause)
            }
        }
    }
}
