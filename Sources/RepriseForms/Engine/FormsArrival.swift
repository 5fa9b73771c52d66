package import RepriseCore
import RepriseWire

/// An event's content: its name, and its properties as the original JSON object.
package struct EventContent: Hashable, Sendable {
    package var name: String
    package var properties: [UInt8]

    /// Checks an event before it is recorded.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`.
    package init(name: String, properties: [UInt8]) throws {
        guard FormsEvent.isName(name) else {
            throw RepriseError(
                .malformed,
                "An event's name has 1 to \(FormsLimits.eventCharacters) characters of "
                    + "A–Z a–z 0–9 . _ -.")
        }
        guard properties.count <= FormsLimits.propertyBytes else {
            throw RepriseError(
                .tooLarge,
                "The properties of an event have at most \(FormsLimits.propertyBytes) bytes, not "
                    + "\(properties.count).",
                remedy: "Put large content elsewhere and name it in the properties.")
        }
        try JSONMembers.check(properties)
        self.name = name
        self.properties = properties
    }

    /// Decodes the journal's payload.
    package init(payload: [UInt8]) throws {
        let (name, properties) = try JSONMembers.read(payload) { members in
            (try members.string("name"), try members.object("properties"))
        }
        try self.init(name: name, properties: properties)
    }

    var payload: [UInt8] {
        var writer = JSONWriter(reserving: properties.count + 128)
        writer.object { json in
            json.key("name")
            json.string(name)
            json.key("properties")
            json.raw(properties)
        }
        return writer.bytes
    }

    package func entry(id: EntryID, source: String) -> NewEntry {
        NewEntry(id: id, kind: FormsEvent.kindName(name), source: source, payload: payload)
    }
}

/// An event on its way to the page.
package struct FormsArrival: Hashable, Sendable {
    package var id: EntryID
    package var content: EventContent
    package var recordedAt: WallTime
    package var attempt: Int
    /// Events recorded before it may still wait for the page, so that it must not go first.
    package var mayOvertake: Bool

    package init(
        id: EntryID, content: EventContent, recordedAt: WallTime, attempt: Int,
        mayOvertake: Bool = false
    ) {
        self.mayOvertake = mayOvertake
        self.id = id
        self.content = content
        self.recordedAt = recordedAt
        self.attempt = attempt
    }
}

extension JSONMembers {
    /// Checks that a text is one JSON object.
    static func check(_ text: [UInt8]) throws {
        try JSONScanner.validate(text)
        guard text.first(where: { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }) == UInt8(ascii: "{")
        else { throw RepriseError(.malformed, "The properties of an event are a JSON object.") }
    }
}
