import Foundation
import GRDB
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// A door over a journal in a folder of its own, which can be killed and opened again.
final class FormsFixture: Sendable {
    static let catalogue = """
        {"format": "forms/1", "version": "1", "forms": [
            {"id": "welcome", "triggers": [{"event": "opened_push"}], "title": "Welcome",
             "frequency": {"max": 2, "seconds": 3600}},
            {"id": "other", "triggers": [{"event": "other"}], "title": "Other"}]}
        """

    let journal: Journal
    let forms: Forms
    private let task: Task<Void, any Error>

    /// Without a host the door stays closed.
    ///
    /// The journal looks hourly what is to be deleted: where that must not be mistaken for
    /// something else, it is not timed.
    init(
        in folder: TemporaryFolder, _ host: (any WebViewHost)?,
        catalogue: CatalogueSource = CatalogueSource(catalogue: FormsFixture.catalogue),
        events: [FormsEvent] = [], timekeeper: (any Timekeeper)? = nil,
        isJournalTimed: Bool = true,
        answers: Forms.Answers? = nil,
        late: (@Sendable (FormsOccurrence) async throws -> Void)? = nil,
        timeout: Duration = .seconds(20), jitter: (@Sendable () -> Double)? = nil,
        zone: String = "GMT", willAppearTimeout: Duration = .seconds(60),
        willAppear: (@Sendable (FormsAppearance) async -> FormsDecision)? = nil
    ) async throws {
        var configuration = Forms.Configuration()
        configuration.zone = { TimeZone(identifier: zone) ?? .gmt }
        configuration.willAppear = willAppear
        configuration.willAppearTimeout = willAppearTimeout
        configuration.events = events
        configuration.late = late
        if let jitter { configuration.jitter = jitter }
        configuration.helloTimeout = timeout
        configuration.eventsTimeout = timeout
        configuration.appearTimeout = timeout
        var settings = Journal.Configuration()
        settings.closeGrace = .milliseconds(50)
        if let timekeeper {
            configuration.timekeeper = timekeeper
            if isJournalTimed { settings.timekeeper = timekeeper }
        }
        try configuration.check()
        journal = try await Journal.open(
            at: folder.appending("journal"), kinds: Forms.kinds(configuration),
            schemas: [Forms.schema], configuration: settings)
        await journal.setReady(.journal)
        forms = Forms(journal: journal, configuration: configuration, answers: answers)
        task = Task { [forms] in
            guard let host else { return }
            try await forms.run(webViews: host, catalogue: catalogue)
        }
    }

    func reason(of id: EntryID) async throws -> String? { try await journal.entry(id)?.reason }

    func outcome(of id: EntryID) async throws -> Outcome? {
        guard case .finished(let outcome) = try await journal.entry(id)?.state else { return nil }
        return outcome
    }

    func ended(_ id: EntryID, _ outcome: Outcome, _ reason: String) async throws {
        try await eventually("\(id) ends as \(outcome): \(reason)") {
            let entry = try await journal.entry(id)
            return entry?.state == .finished(outcome) && entry?.reason == reason
        }
    }

    func count(_ sql: String) async throws -> Int {
        try await journal.read { db in try Int.fetchOne(db, sql: sql) ?? -1 }
    }

    /// Ends in good order.
    func close() async {
        task.cancel()
        _ = await task.result
        await journal.close()
    }

    /// Ends as a process does that is killed: nothing is written any more, and nobody knows what
    /// was in hand.
    func kill() async throws {
        try await journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        await close()
    }
}

/// A page that wants to show the form of this name for every event.
extension StandInView.Manner {
    static func showing(_ form: String) -> Self {
        var manner = Self()
        manner.answer = { view, event in
            view.say("showing", ["event": event["id"] ?? "", "form": form])
        }
        return manner
    }

    /// It says nothing about events.
    static var silent: Self {
        var manner = Self()
        manner.answer = { _, _ in }
        return manner
    }
}
