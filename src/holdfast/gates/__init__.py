"""Questions for people: asked, waited for, answered, announced."""
