import RepriseWire

/// Members that are null where there is nothing to say.
extension JSONWriter {
    mutating func member(_ key: StaticString, _ text: String?) {
        self.key(key)
        if let text { string(text) } else { null() }
    }

    mutating func member(_ key: StaticString, _ number: Int64?) {
        self.key(key)
        if let number { integer(number) } else { null() }
    }
}
