"""SymPy meets our arrays and numbers as NumPy's."""

import numpy as np
import sympy as sp

x, y = sp.symbols("x y")
t = np.linspace(0, 1, 5)
print(sp.lambdify((x, y), sp.sin(x) * y + sp.exp(-(x**2)), "numpy")(t, t[::-1]))
print(sp.lambdify(x, sp.Piecewise((x, x < 0.5), (1 - x, True)), "numpy")(t))
print(sp.Float(np.mean(t)), sp.sympify(np.mean(t)), sp.Integer(np.arange(3)[2]), sp.S(t[1].astype("f")))
print(x + t[1], x * t[2], sp.sqrt(np.arange(5)[4]), (x**2).subs(x, t[1]), sp.N(sp.pi * t[2], 5))
print(x * t, sp.sympify(np.arange(3) > 1), sp.Matrix(np.arange(6).reshape(2, 3)), sp.Matrix([t, t]))
print(np.array(sp.Matrix([[1, 2], [3, 4]]).tolist(), dtype=float) @ t[:2])
