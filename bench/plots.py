def measure(*a): pass
def draw(*a): pass
def write(*a): return ""
