import Foundation
import RepriseCore
package import RepriseServer
package import RepriseWire

/// What an operator changes of a journal: its stream's settings, with rights that gateways do not
/// have.
extension NatsJournal {
    /// Ends the journal: what is in it stays, and nothing more is stored.
    ///
    /// There is no way back.
    ///
    /// - Returns: its last entry.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`, also without the right.
    package func seal() async throws -> Int64 {
        if try await !status().isSealed {
            try await update { config in
                config["sealed"] = true
                // What a sealed stream has.
                config["deny_delete"] = true
                config["deny_purge"] = true
            }
        }
        let status = try await status()
        guard status.isSealed else {
            throw RepriseError(
                .unavailable, "The stream \(streamName) is not sealed yet.", remedy: "Try again.")
        }
        return status.last
    }

    /// Has an entry skipped by all gateways.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full` beyond ``ClusterLimits/skipped``;
    ///   `.unavailable`, also without the right.
    package func skip(_ entry: StoredEntry) async throws {
        let first = try await status().first
        var all = skipped.filter { $0.sequence >= first }
        all.insert(SkippedEntry(entry))
        guard all.count <= ClusterLimits.skipped else {
            throw RepriseError(
                .full, "\(ClusterLimits.skipped) entries are skipped already.",
                remedy: "Wait for a base: those before it are forgotten.")
        }
        let text = JournalStream.text(of: all)
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.skippedKey] = text
            config["metadata"] = metadata
        }
        _ = try await status()
    }

    /// Has the gateways raise the rules to this version's.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`, also without the right.
    package func raiseRules() async throws {
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.rulesKey] = "\(ClusterRules.newest)"
            config["metadata"] = metadata
        }
        _ = try await status()
    }

    /// Gives a journal that was restored from a backup a new epoch: what was stored after the
    /// backup is gone, and its numbers are used again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if the newest base is behind the last
    ///   entry; `.unavailable`, also without the right.
    package func restored() async throws -> Epoch {
        let last = try await status().last
        if let base = try await bases?.newest(), base.position.sequence > last {
            throw RepriseError(
                .corrupt,
                "The newest base stands at entry \(base.position.sequence), and the journal ends "
                    + "at \(last).",
                remedy: "Restore both streams from the same backup.")
        }
        let (former, new) = (epoch, Epoch.random())
        let formers = formerEpochs.union([former]).map(\.text).sorted().joined(separator: ",")
        try await update { config in
            var metadata = config["metadata"] as? [String: Any] ?? [:]
            metadata[JournalStream.epochKey] = new.text
            metadata[JournalStream.formerEpochsKey] = formers
            config["metadata"] = metadata
        }
        return new
    }

    /// Changes the stream's settings, and leaves those that this version does not know.
    private func update(_ change: (inout [String: Any]) -> Void) async throws {
        let answer = try await connection.ask(
            "$JS.API.STREAM.INFO.\(stream.name)", [String: String]())
        let found = try? JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any]
        guard var config = found?["config"] as? [String: Any] else {
            throw RepriseError(.unavailable, "JetStream's answer cannot be read.")
        }
        change(&config)
        let bytes = Array(try JSONSerialization.data(withJSONObject: config))
        let made: JournalStream.Answer
        do {
            made = try Self.decode(
                try await connection.askAside(
                    "$JS.API.STREAM.UPDATE.\(stream.name)", bytes: bytes, within: .seconds(10)))
        } catch let error as RepriseError where error.code == .unavailable {
            throw RepriseError(
                .unavailable, "Nobody in NATS changes the stream \(stream.name) for this user.",
                remedy: "Use the operator's credentials: gateways may not change it; or a majority "
                    + "of its servers is missing.", cause: error)
        }
        guard let error = made.error else { return }
        throw RepriseError(
            .unavailable, "JetStream does not change \(stream.name): \(error.text).")
    }
}
