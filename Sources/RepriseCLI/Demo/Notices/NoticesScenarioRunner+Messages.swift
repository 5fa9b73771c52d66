import Foundation
import RepriseCore
import ReprisePhone
import RepriseWire

/// Actions of people: writing, reading and tapping.
extension NoticesScenarioRunner {
    /// Ada writes a message; returns when the server has stored it.
    ///
    /// - Parameters:
    ///   - name: the message's, in this run.
    ///   - due: the expected notification.
    ///   - conversation: the channel.
    /// - Throws: the server's errors.
    func writes(
        _ name: String, _ due: NoticesRecorder.Message.Due = .banner, in conversation: Int = 0
    ) async throws {
        let channel = channels[conversation]
        let seq = try await sender.publish(id(name), "Message \(name)", to: channel)
        await book.note(
            NoticesRecorder.Message(
                id: id(name), channel: channel, seq: seq, microseconds: clock.microseconds,
                due: due))
    }

    /// The same id in no other play.
    func id(_ name: String) -> String { "\(person)-\(name)" }

    /// A person has seen banners of these.
    func areSeen(_ names: [String], within limit: Duration? = nil) async throws {
        let due = Set(names.map(id))
        try await within(limit ?? timeout) {
            let seen = try await log().filter { $0.what == "banner" }.map(\.detail)
            return due.isSubset(of: seen)
        }
    }

    /// The app has these.
    func areStored(_ names: [String]) async throws {
        let due = Set(names.map(id))
        try await within(timeout) {
            let stored = try await log().filter { $0.what == "app.stored" }.map(\.detail)
            return due.isSubset(of: stored)
        }
    }

    /// The figure at the icon is what is unread by the server, in the middle of a scenario.
    func badgeIsRight() async throws {
        var (saw, due) = (Int64(0), Int64(0))
        let isRight = try await within(timeout) {
            saw = Int64(try await phone.app(app).badge)
            due = 0
            for channel in channels { due += try await elsewhere.standing(in: channel).unread }
            return saw == due
        }
        if !isRight { await book.note(.badge(saw: saw, due: due)) }
    }

    /// The person taps the banner of a message, if there is one, and its conversation is on the
    /// screen.
    func taps(_ name: String) async throws {
        let shown = try await phone.app(app).delivered.contains { $0.request.id == id(name) }
        guard shown, let message = await book.message(id(name)) else { return }
        await book.taps(message.channel)
        let routes = try await log().count { $0.what == "app.route" }
        try await phone.tap(id(name), app: app)
        try await within(Self.timeout) {
            try await log().count { $0.what == "app.route" } > routes
        }
    }

    /// The person marks a message as read without opening the app; in the original app, by opening
    /// it.
    func marksRead(_ name: String) async throws {
        guard algorithm == .reprise else { return try await taps(name) }
        let shown = try await phone.app(app).delivered.contains { $0.request.id == id(name) }
        guard shown else { return }
        try await phone.tap(id(name), .button("read"), app: app)
    }

    /// The person reads on another device, all that is there.
    func readsElsewhere(_ conversation: Int = 0) async throws {
        let channel = channels[conversation]
        try await elsewhere.read(channel, through: await book.newest(in: channel))
    }

    /// No banner of these is delivered any more.
    func areGone(_ names: [String]) async throws {
        let read = Set(names.map(id))
        try await within(timeout) {
            try await phone.app(app).delivered.allSatisfy { !read.contains($0.request.id) }
        }
    }

    /// A push of a message that has been under way: Apple brings it late, whatever the device has
    /// by now.
    func isPushedLate(_ name: String) async throws {
        guard let message = await book.message(id(name)) else { return }
        var hint = PushHint(
            kind: .alert, channel: try ChannelName(message.channel), seq: message.seq,
            head: message.seq)
        hint.id = try EntryID(message.id)
        hint.from = try UserID("ada")
        hint.time = SystemTimekeeper().wall()
        let standing = try await elsewhere.standing(in: message.channel)
        hint.badge = PushHint.Badge(
            count: standing.unread, asOf: hint.time ?? WallTime(milliseconds: 0))
        let alert = #""alert":{"title":"The \#(message.channel)","body":"Message \#(name)"}"#
        let member = String(decoding: hint.json, as: UTF8.self)
        try await phone.push(
            """
            {"aps":{\(alert),"badge":\(standing.unread),"sound":"default",\
            "mutable-content":1},"reprise":\(member)}
            """,
            headers: ["apns-push-type": "alert", "apns-collapse-id": message.id], app: app)
        let delivered = try await log().count { $0.what == "delivered" }
        try await within(.seconds(3)) {
            let log = try await log()
            return log.count { $0.what == "delivered" } > delivered
                || log.last { $0.what == "push" || $0.what == "notPresented" }?.what
                    == "notPresented"
        }
    }

    /// - Returns: whether it has come true in time.
    @discardableResult
    func within(_ limit: Duration, _ condition: () async throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return try await condition()
    }
}
