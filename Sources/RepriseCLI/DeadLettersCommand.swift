import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseWire

/// `reprise dead-letters`: lists failed entries of a device, and retries or discards them.
struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "List, retry or discard what a device could not send.",
        usage: """
            reprise dead-letters --journal DIR [--json]
            reprise dead-letters --journal DIR --retry ID | --discard ID
            """,
        discussion: """
            A message that the server refuses permanently stays in the device's journal,
            with the reason; later ones are sent. Retried, it waits again in its old
            place; the next `reprise chat` or app with this journal sends it. Discarded,
            it counts as dead, and its content is removed.

            EXAMPLES
              reprise dead-letters --journal ~/.local/state/reprise/chat/ada
              reprise dead-letters --journal ./inbox --json | jq -r .reason
              ID=$(reprise dead-letters --journal ./inbox --json | jq -r .id | head -1)
              reprise dead-letters --journal ./inbox --retry "$ID"

            EXIT CODES
              0 done; 65 no journal there, or no such dead letter; 75 another process
              owns the journal: end it first. All: reprise --help
            """)

    @OptionGroup var journal: JournalOption
    @Option(help: ArgumentHelp("Let this one be tried again.", valueName: "id")) var retry: String?
    @Option(help: ArgumentHelp("Give this one up.", valueName: "id")) var discard: String?
    @Flag(help: "Print an object a line.") var json = false

    func validate() throws {
        guard retry == nil || discard == nil else {
            throw ValidationError("Give --retry or --discard, not both.")
        }
        do { for id in [retry, discard].compactMap(\.self) { _ = try EntryID(id) } } catch let error
            as RepriseError
        {
            throw ValidationError(error.line)
        }
    }

    func run() async throws {
        // Opening would make a journal where there is none, and set a damaged one aside.
        let folder = try journal.checkedURL
        let reprise = try await AccountClient.open(
            at: folder, server: "http://127.0.0.1:1", dialer: NIODialer(),
            configuration: .ofNamedChannels)
        do { try await work(reprise) } catch let error as RepriseError
            where error.code == .noSuchEntry
        {
            await reprise.close()
            throw CommandFailure(.badInput, error.line)
        } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    private func work(_ reprise: AccountClient) async throws {
        if let retry { return try await reprise.journal.retry(EntryID(retry)) }
        if let discard { return try await reprise.journal.discard(EntryID(discard)) }
        var after: EntryID?
        while true {
            let page = try await reprise.journal.deadLetters(after: after, limit: 1_000)
            for entry in page {
                try StandardOutput.write(json ? Self.json(entry) : Self.text(entry))
            }
            if page.isEmpty, after == nil { Listing.tellEmpty() }
            guard let last = page.last, page.count == 1_000 else { return }
            after = last.id
        }
    }

    private static func text(_ entry: Entry) -> String {
        let place =
            "\(entry.id)  \(entry.partitionKey ?? entry.kind)  \(entry.recordedAt.dayAndTime)"
        let words = String(decoding: entry.payload.prefix(200), as: UTF8.self)
        return Terminal.output.paint(place.printable, .dim)
            + "  \(entry.reason ?? "no reason given")".printable + "\n    " + words.printable
    }

    private static func json(_ entry: Entry) -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("id")
            json.string(entry.id.text)
            json.key("kind")
            json.string(entry.kind)
            if let partitionKey = entry.partitionKey {
                json.key("channel")
                json.string(partitionKey)
            }
            json.key("recorded")
            json.integer(entry.recordedAt.milliseconds)
            json.key("attempts")
            json.integer(Int64(entry.attempt))
            json.key("reason")
            json.string(entry.reason ?? "")
            json.key("payload")
            json.string(String(decoding: entry.payload, as: UTF8.self))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
