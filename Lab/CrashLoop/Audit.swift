import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseTesting

/// Compares, once everything is calm, what was promised with what has come of it on one device.
struct Audit {
    private(set) var faults: [String] = []
    /// Lines of `again` beyond the first for a message.
    private(set) var repeats = 0
    private(set) var unconfirmed = 0

    private let name: String
    private let device: CrashFixture.Device
    /// All that the server has stored.
    private let stored: Set<String>
    /// The same, in order for each channel.
    private let log: [String]

    init(_ device: CrashFixture.Device, name: String, stored log: [String]) {
        self.device = device
        self.name = name
        self.log = log
        stored = Set(log)
    }

    mutating func run() async throws {
        let reprise = try await AccountClient.open(
            at: device.place.journal, server: "http://127.0.0.1:1", dialer: NIODialer(),
            configuration: DeviceRole.configuration { _ in })
        let opening = reprise.journal.opening
        if opening.setAside != nil { fault("its journal was set aside") }
        if opening.quarantined > 0 { fault("\(opening.quarantined) rows were quarantined") }
        try await checkTables(reprise.journal)
        try await checkNever(reprise)
        checkApplied()
        checkAgain()
        checkOrder()
        try await checkLedger(reprise)
        await reprise.close()
    }

    private mutating func fault(_ text: String) { faults.append("\(name): \(text)") }

    // MARK: Effects

    /// Exactly once, because the effect shares the journal's transaction.
    private mutating func checkTables(_ journal: Journal) async throws {
        let (sink, spooled) = try await journal.read { db in
            (
                try String.fetchAll(db, sql: "SELECT id FROM crashSink"),
                try String.fetchAll(db, sql: "SELECT id FROM crashSpooled")
            )
        }
        expectEachOnce(sink, of: stored, "in the transactional reader's table")
        expectEachOnce(spooled, of: Set(device.spooled), "from the spool")
    }

    private mutating func checkApplied() {
        expectEachOnce(lines(.applied).map(\.id), of: stored, "of the isApplied reader")
    }

    private mutating func expectEachOnce(_ found: [String], of all: Set<String>, _ what: String) {
        expectAll(found, of: all, what)
        let twice = found.count - Set(found).count
        if twice > 0 { fault("\(twice) effects \(what) took place twice") }
    }

    private mutating func expectAll(_ found: [String], of all: Set<String>, _ what: String) {
        let lost = all.subtracting(found)
        if !lost.isEmpty { fault("\(lost.count) effects \(what) are lost: \(some(of: lost))") }
        let early = Set(found).subtracting(all)
        if !early.isEmpty {
            fault("\(early.count) effects \(what) were never stored: \(some(of: early))")
        }
    }

    /// What a device publishes to a channel is stored in that order, however much of it was on its
    /// way at a kill.
    private mutating func checkOrder() {
        let published = LineFile.read(device.place.promises).filter { $0.count == 2 }
        for channel in DeviceRole.channels {
            let promised = published.filter { $0[1] == channel }.map { String($0[0]) }
            let own = Set(promised)
            let found = log.filter(own.contains)
            // What is missing is a fault of its own.
            let order = promised.filter(stored.contains)
            guard found != order else { continue }
            let first = zip(found, order).first { $0 != $1 }
            fault(
                "its messages to \(channel) are stored in another order, from \(first?.0 ?? "the end") on"
            )
        }
    }

    /// Each repetition is announced by an attempt of its own, and a kill allows no more of them
    /// than the window has.
    private mutating func checkAgain() {
        let lines = lines(.again)
        expectAll(lines.map(\.id), of: stored, "of the reader `again`")
        let attempts = Set(lines.map { "\($0.id) \($0.attempt)" })
        if attempts.count < lines.count {
            fault("\(lines.count - attempts.count) repetitions of `again` were not announced")
        }
        repeats = lines.count - Set(lines.map(\.id)).count
        let most = device.kills * 128 * DeviceRole.channels.count
        if repeats > most { fault("\(repeats) repetitions of `again`, more than \(most)") }
    }

    /// At most once, and what is not there was counted as unconfirmed.
    private mutating func checkNever(_ reprise: AccountClient) async throws {
        let found = lines(.never).map(\.id)
        let twice = found.count - Set(found).count
        if twice > 0 { fault("\(twice) effects of the reader `never` took place twice") }
        var doubted: Set<String> = []
        for channel in DeviceRole.channels {
            let failures = try await reprise.channel(channel)
                .failures(of: KilledReader.never.rawValue, limit: 1_000_000)
            doubted.formUnion(
                failures.filter { $0.status == .unconfirmed }.map(\.message.id.text))
        }
        unconfirmed = doubted.count
        expectAll(found + doubted, of: stored, "of the reader `never`, unconfirmed ones included,")
        // Two messages of doubt a kill at most: one for each channel.
        let most = device.kills * DeviceRole.channels.count
        if unconfirmed > most {
            fault("\(unconfirmed) are unconfirmed after \(device.kills) kills")
        }
    }

    // MARK: The ledger

    private mutating func checkLedger(_ reprise: AccountClient) async throws {
        let sum = try await reprise.ledger()
        if !sum.isBalanced { fault("its ledger does not add up in the end: \(sum.text)") }
        if let newest = device.watch.newest, sum.isBehind(newest) {
            fault("its ledger went back in the end, from \(newest.text) to \(sum.text)")
        }
        if sum.outcomes[.unconfirmed] != Int64(unconfirmed) {
            fault(
                "its ledger counts \(sum.outcomes[.unconfirmed] ?? 0) unconfirmed, not \(unconfirmed)"
            )
        }
        if sum.pending > 0 { fault("\(sum.pending) entries are pending in the end") }
        if sum.outcomes[.dead, default: 0] > 0 { fault("dead letters in the end: \(sum.text)") }
        if !sum.lost.isEmpty { fault("its ledger counts losses: \(sum.lost)") }
    }

    private func lines(_ reader: KilledReader) -> [(id: String, attempt: String)] {
        LineFile.read(device.place.effects(reader)).filter { $0.count == 2 }.map {
            (String($0[0]), String($0[1]))
        }
    }

    private func some(of ids: Set<String>) -> String {
        ids.sorted().prefix(3).joined(separator: ", ") + (ids.count > 3 ? ", …" : "")
    }
}
