import RepriseCommandLine
import RepriseCore
import RepriseWire

/// What a server tells the caller about one message.
struct TraceServer: Sendable {
    /// The newest messages among which one is looked for whose sequence is not known.
    static let searched: Int64 = 1_000
    private static let page: Int64 = 200

    let api: ServerAPI
    let id: EntryID
    let channel: String

    /// The steps, and the sequence if the server has the message.
    struct Answer: Sendable {
        var seq: Int64?
        var steps: [TraceStep] = []
        var unknown: [String] = []
    }

    /// Asks with what the journal knows.
    ///
    /// - Parameters:
    ///   - seq: its sequence; nil: unknown.
    ///   - epoch: the log that the sequence belongs to; nil: unknown.
    /// - Returns: the steps; without a sequence where the server has no such message.
    /// - Throws: ``RepriseError``, ``CommandFailure``.
    func ask(seq: Int64?, epoch: String?) async throws -> Answer {
        var answer = Answer()
        let first = try await history(after: max((seq ?? 0) - 1, 0), limit: 1)
        let head = first.integer("head") ?? 0
        var found: HTTPMembers?
        if let seq, epoch == nil || first.text("epoch") == epoch {
            found = try first.list("messages").map { try api.members($0) }.first {
                $0.integer("seq") == seq && $0.text("id") == id.text
            }
            if found == nil, let gone = try gone(seq, first) {
                answer.steps.append(gone)
                return answer
            }
        }
        if found == nil { found = try await search(head) }
        guard let found, let place = found.integer("seq") else {
            answer.steps.append(
                Self.step(
                    "not found", "among the newest \(Self.searched) of \(head) sequences"))
            return answer
        }
        answer.seq = place
        answer.steps.append(stored(found, head))
        try await askOn(place, &answer)
        return answer
    }

    private func askOn(_ seq: Int64, _ answer: inout Answer) async throws {
        if let members = try await members(seq) { answer.steps.append(members) }
        if let receipts = try await receipts(seq) { answer.steps.append(receipts) }
        let devices = try await devices(seq)
        answer.steps += devices ?? []
        answer.unknown.append(
            devices == nil
                ? "What was pushed: the server does not ask who is who, or is of an older version."
                : "Pushes that were dropped or refused: the server's log at debug has them.")
    }

    private static func step(
        _ name: String, _ text: String, at: WallTime? = nil,
        _ facts: KeyValuePairs<String, TraceStep.Fact> = [:]
    ) -> TraceStep {
        TraceStep(place: .server, at: at, name: name, text: text, facts: facts)
    }

    // MARK: The log

    private func history(after: Int64, limit: Int64) async throws -> HTTPMembers {
        let answer = try await api.send(
            "GET", ["v1", "channels", channel, "messages"],
            query: ["after": String(after), "limit": String(limit)])
        guard let answer else { throw api.notReprise }
        return answer
    }

    private func search(_ head: Int64) async throws -> HTTPMembers? {
        var after = max(0, head - Self.searched)
        while after < head {
            let messages = try await history(after: after, limit: Self.page).list("messages")
                .map { try api.members($0) }
            if let found = messages.first(where: { $0.text("id") == id.text }) { return found }
            guard let last = messages.last?.integer("seq"), last > after else { return nil }
            after = last
        }
        return nil
    }

    private func stored(_ message: HTTPMembers, _ head: Int64) -> TraceStep {
        let (seq, from) = (message.integer("seq"), message.text("from"))
        let author = from.map { " from \($0)" } ?? ""
        let deleted = message.bool("deleted") ? "; it was deleted, its body is gone" : ""
        return Self.step(
            "stored", "as sequence \(seq ?? 0) of \(head)\(author)\(deleted)",
            at: message.integer("timestamp").map { WallTime(milliseconds: $0) },
            [
                "seq": .integer(seq), "head": .integer(head), "from": .text(from),
                "deleted": .bool(message.bool("deleted")),
            ])
    }

    /// Why the server has the sequence no more; nil if it does not say so.
    private func gone(_ seq: Int64, _ page: HTTPMembers) throws -> TraceStep? {
        let reason = try page.list("gone").map { try api.members($0) }.first {
            ($0.integer("after") ?? .max) < seq && seq <= $0.integer("through") ?? 0
        }?.text("reason")
        return reason.map { reason in
            Self.step("gone", "not there any more: \(reason)", ["reason": .text(reason)])
        }
    }

    // MARK: Members, positions, devices

    /// Nil for what this server does not answer.
    private func get(_ path: [String], query: [String: String?] = [:]) async throws
        -> HTTPMembers?
    {
        let answer = try await api.exchange(
            "GET", ["v1", "channels", channel] + path, query: query)
        // Older servers do not have all routes, and open ones know no users.
        if [403, 404].contains(answer.status) { return nil }
        guard answer.status == 200 else { throw api.failure(answer) }
        guard let members = try? HTTPMembers(answer.body) else { throw api.failure(answer) }
        return members
    }

    private func members(_ seq: Int64) async throws -> TraceStep? {
        guard
            let page = try await get(
                ["deliveries", String(seq)], query: ["limit": String(Self.page)])
        else { return nil }
        var states: [String: [String]] = [:]
        for member in try page.list("members").map({ try api.members($0) }) {
            states[member.text("state") ?? "?", default: []].append(member.text("user") ?? "?")
        }
        guard !states.isEmpty else { return nil }
        let order = ["read", "delivered", "pushed", "stored"]
        let known = order.filter { states[$0] != nil } + states.keys.filter { !order.contains($0) }
        let text = known.map { "\($0): \(TraceJournal.names(states[$0] ?? []))" }
            .joined(separator: "; ")
        let more = page.text("next") == nil ? "" : "; and members after the first \(Self.page)"
        return Self.step("members", text + more)
    }

    private func receipts(_ seq: Int64) async throws -> TraceStep? {
        guard let page = try await get(["positions"]) else { return nil }
        let positions = try page.list("positions").compactMap { bytes -> ServerFrame.Position? in
            let one = try api.members(bytes)
            guard let user = one.text("user").flatMap({ try? UserID($0) }) else { return nil }
            return ServerFrame.Position(
                user: user, read: one.integer("read") ?? 0,
                delivered: one.integer("delivered") ?? 0)
        }
        return TraceJournal.receipts(positions, of: seq, in: .server)
    }

    /// The caller's own devices; nil where the server does not tell.
    private func devices(_ seq: Int64) async throws -> [TraceStep]? {
        guard let page = try await get(["deliveries", String(seq), "devices"]) else { return nil }
        let devices = try page.list("devices").map { try api.members($0) }
        guard !devices.isEmpty else {
            return [Self.step("devices", "this user has none")]
        }
        return try devices.prefix(10).map(device)
            + (devices.count > 10
                ? [Self.step("devices", "and \(devices.count - 10) more")] : [])
    }

    private func device(_ device: HTTPMembers) throws -> TraceStep {
        let name = device.text("device") ?? "?"
        let waiting = try device.list("waiting").map { try api.members($0) }
        let services = try device.list("services").map { String(decoding: $0, as: UTF8.self) }
        var words: [String] = []
        if device.bool("delivered") { words.append("it has confirmed the message") }
        if device.bool("pushed") {
            words.append("a push of it, or of a later one, was accepted by its provider")
        }
        for push in waiting {
            let due = push.integer("due").map { WallTime(milliseconds: $0).dayAndTime } ?? "?"
            words.append(
                "a push waits until \(due), after \(push.integer("attempts") ?? 0) attempts")
        }
        if words.isEmpty {
            words.append(
                services.isEmpty
                    ? "not confirmed; it has no push address" : "neither confirmed nor pushed")
        }
        let platform = device.text("platform").map { " (\($0))" } ?? ""
        return Self.step(
            "device", "\(name.prefix(16))\(platform): " + words.joined(separator: "; "),
            [
                "device": .text(name), "delivered": .bool(device.bool("delivered")),
                "pushed": .bool(device.bool("pushed")), "waiting": .integer(Int64(waiting.count)),
            ])
    }
}
