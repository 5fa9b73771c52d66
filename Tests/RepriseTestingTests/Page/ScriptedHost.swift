import Foundation
import RepriseCore
import RepriseForms
import RepriseTesting
import Testing

/// A piece of JSON, as text.
struct JSONText: Decodable {
    let value: Any
    let text: String

    init(from decoder: any Decoder) throws {
        try self.init(JSONText.read(decoder.singleValueContainer()))
    }

    init(_ value: Any) throws {
        self.value = value
        let data = try JSONSerialization.data(
            withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
        text = String(decoding: data, as: UTF8.self)
    }

    subscript(_ name: String) -> JSONText? {
        (value as? [String: Any])?[name].flatMap { try? JSONText($0) }
    }

    private static func read(_ container: any SingleValueDecodingContainer) throws -> Any {
        if container.decodeNil() { return NSNull() }
        if let value = try? container.decode(Bool.self) { return NSNumber(value: value) }
        if let value = try? container.decode(Double.self) { return NSNumber(value: value) }
        if let value = try? container.decode(String.self) { return value }
        if let value = try? container.decode([JSONText].self) { return value.map(\.value) }
        return try container.decode([String: JSONText].self).mapValues(\.value)
    }
}

/// A host that says what a test tells it to, and the page's answers.
final class ScriptedHost {
    static let now = 1_000_000_000_000

    /// A message of the page; members are text.
    struct Said: CustomStringConvertible {
        var type: String
        var members: [String: String]
        /// `id result form reason` of each event.
        var events: [String]
        var description: String { "\(type) \(members) \(events)" }
    }

    let screen: ScriptedWebViews
    private let view: any HostedWebView

    init(_ catalogue: String?, clock: ManualClock = ManualClock()) async throws {
        screen = ScriptedWebViews(clock: clock)
        view = try await screen.open(FormsPage.page(session: String(repeating: "5e", count: 16)))
        #expect(try await says().type == "hello")
        try await tell(#"{"type":"welcome","protocol":2,"now":\#(Self.now),"locale":"en"}"#)
        guard let catalogue else { return }
        try await tell(#"{"type":"catalogue","version":"1","catalogue":\#(catalogue)}"#)
        #expect(try await says().type == "formsData")
    }

    func tell(_ text: String) async throws { try await view.send(Array(text.utf8)) }

    func happened(_ name: String, _ properties: String = "{}", id: String? = nil) async throws {
        try await tell(
            #"{"type":"events","events":[{"id":"\#(id ?? name)","name":"\#(name)","properties":\#(properties),"at":\#(Self.now),"now":\#(Self.now),"attempt":1}]}"#
        )
    }

    private func next() async -> WebViewEvent? {
        for await event in view.events { return event }
        return nil
    }

    func says(_ type: String? = nil) async throws -> Said {
        guard case .message(let bytes)? = await next(),
            let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { throw RepriseError(.closed, "The page says nothing.") }
        let events = object["events"] as? [Any] ?? []
        var said = Said(
            type: object["type"] as? String ?? "", members: object.mapValues { "\($0)" },
            events: events.compactMap { $0 as? [String: Any] }.map { event in
                ["id", "result", "form", "reason"].compactMap { event[$0] as? String }
                    .joined(separator: " ")
            })
        if let first = events.first as? [String: Any], let at = first["at"] as? Int {
            said.members["at"] = "\(at)"
        }
        if let type { #expect(said.type == type, "\(said)") }
        return said
    }

    func saysNothing() async throws {
        try await tell(#"{"type":"knock"}"#)
        let fault = try await says()
        #expect(fault.members["about"] == "knock", "\(fault)")
    }
}
