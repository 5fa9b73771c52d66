extension String {
    /// What to do about a server's refusal in these words; nil where they say it themselves.
    package var retryRemedy: String? {
        let words = lowercased()
        let isSaid = ["try again", "come back"].contains { words.contains($0) }
        return isSaid ? nil : "Try again later."
    }
}
