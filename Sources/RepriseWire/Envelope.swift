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
                throw RepriseError(.malformed, "An object has at most \(fieldLimit) fields here.")
            }
            let field = Field(
                key: key, value: value,
                unescapedKey: key.hasEscapes ? scanner.unescaped(key) : nil)
            guard !found.contains(where: { Self.sayTheSame($0, field, scanner) }) else {
                throw RepriseError(
                    .malformed, "The field \(try scanner.string(key).excerpt) is there twice.")
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

    package func string(_ name: StaticString) throws -> String { try named(name) { $0 } }

    func integer(_ name: StaticString) throws -> Int64 {
        let value = try present(name)
        return try naming(name) { try scanner.integer(value) }
    }

    /// A sequence, a time or a length of time: 0 or more, and exact in every JSON reader.
    package func sequence(_ name: StaticString) throws -> Int64 {
        let value = try present(name)
        return try naming(name) { try scanner.sequence(value) }
    }

    package func bool(_ name: StaticString) throws -> Bool {
        guard let value = optional(name) else { return false }
        let word = scanner.raw(value)
        guard value.kind == .literal else {
            throw scanner.unexpected(value, "true or false").within("The field \(name)")
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
        guard value.kind == .string, !value.hasEscapes, EntryID.isValid(scanner.inside(value))
        else { return try named(name) { try EntryID($0) } }
        return EntryID(unchecked: String(decoding: scanner.inside(value), as: UTF8.self))
    }

    package func user(_ name: StaticString) throws -> UserID {
        try named(name) { try UserID($0) }
    }

    func channel(_ name: StaticString = "channelId") throws -> ChannelName {
        try named(name) { try ChannelName($0) }
    }

    func epoch() throws -> Epoch { try named("epoch") { try Epoch($0) } }

    /// The bytes of a field, unchanged.
    package func raw(_ name: StaticString) throws -> [UInt8] { Array(scanner.raw(try value(name))) }

    /// The fields of an object in this one.
    package func object(_ value: JSONScanner.Value) throws -> Envelope {
        guard value.kind == .object else { throw scanner.unexpected(value, "an object") }
        return try Envelope(scanner.raw(value))
    }

    package func object(_ name: StaticString) throws -> Envelope {
        let value = try present(name)
        return try naming(name) { try object(value) }
    }

    /// Calls `body` with each element of an array; an error of it says which element it is.
    package func elements(
        _ name: StaticString, _ body: (JSONScanner.Value) throws -> Void
    ) throws {
        let list = try value(name)
        guard list.kind == .array else {
            throw scanner.unexpected(list, "an array").within("The field \(name)")
        }
        var inner = scanner.at(list)
        var index = 0
        try inner.array { element in
            do {
                try body(element)
            } catch let error as RepriseError {
                throw error.within("In \(name)[\(index)]")
            }
            index += 1
        }
    }

    /// Refuses an object that has other fields than these.
    package func expect(only names: [StaticString]) throws {
        for field in fields where !names.contains(where: { says(field, $0) }) {
            let known = names.map { "\($0)" }.joined(separator: ", ")
            throw RepriseError(
                .malformed, "The field \(try scanner.string(field.key).excerpt) is unknown here.",
                remedy: known.isEmpty ? "There is none." : "Known are \(known).")
        }
    }

    // MARK: Errors that say where they are

    /// The result of `read`; an error of it names the field.
    @inline(__always) package func naming<Result>(
        _ name: StaticString, _ read: () throws -> Result
    ) throws -> Result {
        do {
            return try read()
        } catch let error as RepriseError {
            throw error.within("The field \(name)")
        }
    }

    @inline(__always) private func named<Result>(
        _ name: StaticString, _ make: (String) throws -> Result
    ) throws -> Result {
        let value = try present(name)
        return try naming(name) { try make(try scanner.string(value)) }
    }

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

extension RepriseError {
    /// The same error, with its place in the input.
    fileprivate func within(_ place: String) -> RepriseError {
        RepriseError(code, "\(place): \(message)", remedy: remedy)
    }
}
