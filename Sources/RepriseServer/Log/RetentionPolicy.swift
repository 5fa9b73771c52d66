/// What a log keeps of each channel; nil keeps everything.
package struct RetentionPolicy: Hashable, Sendable {
    /// The most messages.
    package var count: Int64?
    /// The greatest age of a message.
    package var age: Duration?
    /// The most bytes of bodies.
    package var bytes: Int64?

    package init(count: Int64? = nil, age: Duration? = nil, bytes: Int64? = nil) {
        self.count = count
        self.age = age
        self.bytes = bytes
    }
}
