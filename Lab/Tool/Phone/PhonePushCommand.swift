import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseWire

/// `reprise-lab phone push`: a remote push arrives.
struct PhonePushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "A remote push arrives, as APNs would deliver it.",
        usage: """
            reprise-lab phone push [--title TEXT] [--body TEXT] [--badge COUNT]
                                   [--sound] [--thread ID] [--category ID]
                                   [--mutable] [--wake] [--data JSON]
                                   [--header NAME=VALUE ...] [--app APP]
            reprise-lab phone push --payload FILE|- [--header NAME=VALUE ...]
                                   [--app APP]
            """,
        discussion: """
            Without words and badge, --wake makes a background push. The payload may have
            4,096 bytes. What APNs refuses is refused with its reason; the same goes for
            HTTP, see the address and the tokens in `reprise-lab phone status`:
              curl -d '{"aps":{"alert":"Hi"}}' ADDRESS/3/device/TOKEN

            EXAMPLES
              reprise-lab phone push --title Hello --body "You have mail" --badge 3
              reprise-lab phone push --wake --data '{"sync": true}'
              reprise-lab phone push --body Again --header apns-collapse-id=one
              echo '{"aps":{"alert":"Hi"}}' | reprise-lab phone push --payload -

            EXIT CODES
              0 delivered to the phone; 65 APNs would refuse it; 66 FILE cannot be read;
              69 no phone runs there. All: reprise-lab --help
            """)

    @Option(help: ArgumentHelp("The title of an alert.", valueName: "text")) var title: String?
    @Option(help: ArgumentHelp("The text of an alert.", valueName: "text")) var body: String?
    @Option(help: ArgumentHelp("The number on the icon.", valueName: "count")) var badge: Int?
    @Flag(help: "It is heard.") var sound = false
    @Option(help: ArgumentHelp("The group that it is shown in.", valueName: "id"))
    var thread: String?
    @Option(help: ArgumentHelp("The category, with its buttons.", valueName: "id"))
    var category: String?
    @Flag(help: "The service extension may change it (mutable-content).") var mutable = false
    @Flag(help: "It wakes the app (content-available).") var wake = false
    @Option(help: ArgumentHelp("The app's own members: a JSON object.", valueName: "json"))
    var data: String?
    @Option(help: ArgumentHelp("The whole payload from a file.", valueName: "file"))
    var payload: String?
    @Option(help: ArgumentHelp("An apns- header.", valueName: "name=value")) var header: [String] =
        []
    @OptionGroup var app: PhoneAppOption

    func validate() throws {
        let isComposed =
            [title, body, thread, category, data].contains { $0 != nil } || badge != nil || sound
            || mutable || wake
        guard isComposed != (payload != nil) else {
            throw ValidationError(
                isComposed
                    ? "--payload is the whole payload; it goes without the parts."
                    : "Say what arrives: --title, --body, --badge, --wake, or --payload FILE.")
        }
        for text in header where text.firstIndex(of: "=") ?? text.startIndex == text.startIndex {
            throw ValidationError("--header takes NAME=VALUE, not \(text.firstLine).")
        }
    }

    func run() async throws {
        let headers = header.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), String(parts[1]))
        }
        let bytes = try payload.map(Self.read) ?? composed()
        let all = Dictionary(headers, uniquingKeysWith: { $1 })
        do {
            _ = try PhonePush(payload: bytes, headers: all)
        } catch {
            throw CommandFailure(.badInput, "\(error.reason.name): \(error.message)")
        }
        try await app.perform(
            .push(app: app.app, payload: String(decoding: bytes, as: UTF8.self), headers: all))
    }

    private static func read(_ path: String) throws -> [UInt8] {
        let handle =
            path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        // One byte beyond the limit, so that an excess is detected without reading everything.
        var bytes: [UInt8] = []
        while let handle, bytes.count <= PhonePush.payloadBytes {
            guard let piece = try? handle.read(upToCount: PhonePush.payloadBytes + 1),
                !piece.isEmpty
            else { return bytes }
            bytes += piece
        }
        guard handle != nil else {
            throw CommandFailure(.noInput, "\(path.firstLine) cannot be read.")
        }
        return bytes
    }

    /// The parts as a payload, with the app's own members behind `aps` as they were typed.
    private func composed() throws -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.key("aps")
            json.object(aps)
        }
        guard let data else { return writer.bytes }
        let text = Array(data.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
        guard let members = try? HTTPMembers(text), members.raw("aps") == nil else {
            throw CommandFailure(.badInput, "--data is not a JSON object of the app's own members.")
        }
        let inner = text.dropFirst().dropLast()
        let isEmpty = inner.allSatisfy { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
        return writer.bytes.dropLast() + (isEmpty ? [] : [UInt8(ascii: ",")] + inner)
            + [UInt8(ascii: "}")]
    }

    private func aps(_ json: inout JSONWriter) {
        if title != nil || body != nil {
            json.key("alert")
            json.object { json in
                for (key, text) in [("title", title), ("body", body)] {
                    guard let text else { continue }
                    json.key(plain: key)
                    json.string(text)
                }
            }
        }
        for (key, number) in [
            ("badge", badge), ("mutable-content", mutable ? 1 : nil),
            ("content-available", wake ? 1 : nil),
        ] {
            guard let number else { continue }
            json.key(plain: key)
            json.integer(Int64(number))
        }
        for (key, text) in [
            ("sound", sound ? "default" : nil), ("thread-id", thread), ("category", category),
        ] {
            guard let text else { continue }
            json.key(plain: key)
            json.string(text)
        }
    }
}
