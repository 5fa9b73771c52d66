package import RepriseCore

/// The fields of one frame, or of one message in an HTTP body, located but not yet read.
package struct Envelope {
    /// More fields than any frame has, with room for those of later versions.
    package static let fieldLimit = 32

    private struct Field {
        let key: JSONScanner.Value
        let value: JSONScanner.Value
        /// The unescaped key, where its bytes differ: so it is unescaped once, however often it is
        /// compared.
        let unescapedKey: [UInt8]?
    }

    package let scanner: JSONScanner
    private let fields: [Field]

    package init(_ bytes: UnsafeBufferPointer<UInt8>, fieldLimit: Int = fieldLimit) throws {
        var scanner = JSONScanner(bytes)
        self.scanner = scanner
        var found: [Field] = []
        found.reserveCapacity(8)
        try scanner.object { [scanner] key, value in
            guard found.count < fieldLimit else {
                throw scanner.malformed("there are at most \(fieldLimit) fields")
            }
            let field = Field(
                key: key, value: value,
                unescapedKey: key.hasEscapes ? scanner.unescaped(key) : nil)
            guard !found.contains(where: { Self.sayTheSame($0, field, scanner) }) else {
                throw scanner.malformed("a field is there twice")
            }
            found.append(field)
        }
        try scanner.end()
        fields = found
    }

    /// Whether two keys are equal, however they are escaped: another reader may take the other one.
    private static func sayTheSame(
        _ left: Field, _ right: Field, _ scanner: JSONScanner
    ) -> Bool {
        switch (left.unescapedKey, right.unescapedKey) {
        case (nil, nil): JSONScanner.areEqual(scanner.raw(left.key), scanner.raw(right.key))
        case (let one?, let other?): one == other
        case (let one?, nil): scanner.inside(right.key).elementsEqual(one)
        case (nil, let other?): scanner.inside(left.key).elementsEqual(other)
        }
    }

    private func says(_ field: Field, _ name: StaticString) -> Bool {
        guard let key = field.unescapedKey else { return scanner.says(field.key, name) }
        return name.withUTF8Buffer { $0.elementsEqual(key) }
    }

    /// The value of a field; nil if it is absent or `null`.
    package func optional(_ name: StaticString) -> JSONScanner.Value? {
        for field in fields where says(field, name) {
            guard field.value.kind == .literal, isNull(field.value) else { return field.value }
            return nil
        }
        return nil
    }

    package func value(_ name: StaticString) throws -> JSONScanner.Value {
        for field in fields where says(field, name) { return field.value }
        throw missing(name)
    }

    package func string(_ name: StaticString) throws -> String {
        try scanner.string(try present(name))
    }

    func integer(_ name: StaticString) throws -> Int64 {
        try scanner.integer(try present(name))
    }

    /// A sequence, a time or a length of time: 0 or more, and exact in every JSON reader.
    package func sequence(_ name: StaticString) throws -> Int64 {
        let value = try integer(name)
        guard value >= 0, value <= WireLimits.greatestSequence else {
            throw RepriseError(.malformed, "\(name) is out of range.")
        }
        return value
    }

    package func bool(_ name: StaticString) throws -> Bool {
        guard let value = optional(name) else { return false }
        let word = scanner.raw(value)
        guard value.kind == .literal else {
            throw RepriseError(.malformed, "\(name) is no boolean.")
        }
        return word.count == 4
    }

    /// Milliseconds since 1970.
    func time(_ name: StaticString) throws -> WallTime {
        WallTime(milliseconds: try sequence(name))
    }

    func duration(_ name: StaticString) throws -> Duration {
        let value = try sequence(name)
        return .milliseconds(value)
    }

    package func id(_ name: StaticString) throws -> EntryID {
        let value = try present(name)
        guard value.kind == .string, !value.hasEscapes else {
            return try EntryID(try scanner.string(value))
        }
        guard EntryID.isValid(scanner.inside(value)) else { return try EntryID("") }
        return EntryID(unchecked: String(decoding: scanner.inside(value), as: UTF8.self))
    }

    func user(_ name: StaticString) throws -> UserID {
        try UserID(try string(name))
    }

    func channel(_ name: StaticString = "channelId") throws -> ChannelName {
        try ChannelName(try string(name))
    }

    func epoch() throws -> Epoch { try Epoch(try string("epoch")) }

    /// The bytes of a field, unchanged.
    package func raw(_ name: StaticString) throws -> [UInt8] { Array(scanner.raw(try value(name))) }

    private func present(_ name: StaticString) throws -> JSONScanner.Value {
        guard let value = optional(name) else { throw missing(name) }
        return value
    }

    private func missing(_ name: StaticString) -> RepriseError {
        RepriseError(.malformed, "The field \(name) is missing.")
    }

    private func isNull(_ value: JSONScanner.Value) -> Bool {
        scanner.raw(value).first == UInt8(ascii: "n")
    }
}
