/// What a log keeps of each channel; nil keeps everything.
package struct RetentionPolicy: Hashable, Sendable {
    /// The most messages.
    package var count: Int64?
    /// The greatest age of a message.
    package var age: Duration?

    package init(count: Int64? = nil, age: Duration? = nil) {
        self.count = count
        self.age = age
    }
}
