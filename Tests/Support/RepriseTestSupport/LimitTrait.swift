package import Testing

/// Marks the test of a limit; `scripts/reference` reads it for `docs/limits`.
///
/// ```swift
/// @Test("a body over the limit is refused", .limit("wire.body"))
/// ```
package struct LimitTrait: TestTrait, SuiteTrait {
    let ids: [String]
}

extension Trait where Self == LimitTrait {
    /// The limits that a test shows; their ids are literals.
    package static func limit(_ ids: String...) -> Self { LimitTrait(ids: ids) }
}
