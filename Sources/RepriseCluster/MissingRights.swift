/// The rights that NATS was found not to give, each of which is told once.
///
/// Beyond ``most`` none is told, and none remembered: the address of each answer is another one.
package struct MissingRights {
    package static let most = 32

    /// What the servers said.
    package private(set) var known: Set<String> = []

    package init() {}

    /// - Returns: whether it is to be told.
    package mutating func insert(_ reason: String) -> Bool {
        known.count < Self.most && known.insert(reason).inserted
    }
}
